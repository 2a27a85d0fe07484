// The members of a communicator of several nodes, as the mail sees them.
#pragma once

#include "engine/wire.hpp"
#include "node/mail.hpp"

namespace smddp::engine {

class RouteMembers final : public node::Members {
 public:
  RouteMembers(const node::Board& board, const Route& route) : board_(board), route_(route) {}

  int size() const override { return route_.ranks(); }  // servers send nothing
  int rank() const override { return route_.rank; }
  int world_rank(int rank) const override { return route_.world_ranks[static_cast<size_t>(rank)]; }
  int board_rank(int rank) const override { return route_.board_ranks[static_cast<size_t>(rank)]; }
  int rank_on_board(int board_rank) const override {
    int rank = 0;
    while (route_.board_ranks[static_cast<size_t>(rank)] != board_rank) ++rank;
    return rank;
  }
  bool has_left(int rank) const override {
    return board_rank(rank) >= 0 ? board_.group().has_left(local(rank)) : route_.wire.has_left(world_rank(rank));
  }
  bool is_dead(int rank) const override {
    return board_rank(rank) >= 0 ? board_.group().state(local(rank)) == node::RankState::kDead : route_.wire.is_dead(world_rank(rank));
  }
  std::string departed(int rank) const override {
    if (rank >= 0) return board_rank(rank) >= 0 ? board_.group().departed({local(rank)}) : route_.wire.departed(world_rank(rank));
    std::string who;
    for (int r = 0; r < size() && who.empty(); ++r) {
      if (r != route_.rank && has_left(r)) who = departed(r);
    }
    return who;
  }

 private:
  int local(int rank) const { return board_.members()[static_cast<size_t>(board_rank(rank))]; }

  const node::Board& board_;
  const Route& route_;
};

}  // namespace smddp::engine
