// A node in one process: an arena, a group and a board for each rank, without bootstrap or engine.
#pragma once

#include "node/board.hpp"
#include "node/shape.hpp"
#include "node/sleeper_fence.hpp"

#include <sys/eventfd.h>

#include <memory>
#include <vector>

namespace test {

using namespace smddp;

class Node {
 public:
  explicit Node(int ranks, uint32_t first = 1) : ranks_(ranks) {
    UniqueFd fd = node::Arena::create(ranks, uint64_t{256} << 20);
    arena_ = node::Arena::open(std::move(fd));
    offset_ = arena_->heap(0).allocate(node::Board::bytes(ranks));
    std::vector<UniqueFd> bells;
    for (int r = 0; r < ranks; ++r) bells.emplace_back(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
    for (int r = 0; r < ranks; ++r) {
      std::vector<UniqueFd> copies;
      std::vector<int> globals;
      for (int i = 0; i < ranks; ++i) {
        copies.emplace_back(dup(bells[static_cast<size_t>(i)].get()));
        globals.push_back(i);
      }
      groups_.push_back(std::make_unique<node::Group>(arena_, std::move(copies), globals, r, node::accept_fences()));
      pools_.push_back(std::make_unique<node::WindowPool>(*arena_, arena_->heap(r)));
    }
    reset(first);
  }

  // New boards on the same memory.
  void reset(uint32_t first) {
    boards_.clear();
    node::Board::format(*arena_, offset_, ranks_, first);
    std::vector<int> members;
    for (int r = 0; r < ranks_; ++r) members.push_back(r);
    for (int r = 0; r < ranks_; ++r) {
      boards_.push_back(std::make_unique<node::Board>(*groups_[static_cast<size_t>(r)], *pools_[static_cast<size_t>(r)], tuning_, offset_,
                                                      members, r, first));
      boards_.back()->name = "test";
    }
  }

  // A board for some of the ranks: its place, and what one of them, members[rank], sees of it.
  uint64_t add_board(int ranks, uint32_t first) {
    const uint64_t offset = arena_->heap(0).allocate(node::Board::bytes(ranks));
    node::Board::format(*arena_, offset, ranks, first);
    return offset;
  }
  std::unique_ptr<node::Board> attach(uint64_t offset, const std::vector<int>& members, int rank, uint32_t first) {
    const auto local = static_cast<size_t>(members[static_cast<size_t>(rank)]);
    return std::make_unique<node::Board>(*groups_[local], *pools_[local], tuning_, offset, members, rank, first);
  }

  int ranks() const { return ranks_; }
  node::Board& board(int rank) { return *boards_[static_cast<size_t>(rank)]; }
  node::Group& group(int rank) { return *groups_[static_cast<size_t>(rank)]; }
  node::Tuning& tuning() { return tuning_; }
  std::shared_ptr<node::Arena> arena() { return arena_; }

 private:
  int ranks_;
  node::Tuning tuning_;
  std::shared_ptr<node::Arena> arena_;
  uint64_t offset_;
  std::vector<std::unique_ptr<node::Group>> groups_;
  std::vector<std::unique_ptr<node::WindowPool>> pools_;
  std::vector<std::unique_ptr<node::Board>> boards_;
};

// The value that rank r contributes at index i of operation number k: exact in float32 sums of few ranks, different everywhere.
inline float value_of(uint32_t k, int r, size_t i) { return static_cast<float>((k * 131u + static_cast<uint32_t>(r) * 7919u + static_cast<uint32_t>(i) * 31u) % 65521u); }

// One operation with buffers of its own, and whether its result is right.
struct Case {
  uint32_t number = 0;
  node::Call call;
  std::vector<float> send, recv;
  float* zero_send = nullptr;  // in the arena, instead of send and recv
  float* zero_recv = nullptr;

  void prepare(int rank, int ranks, uint32_t k, Collective collective, size_t count, int root, bool in_place) {
    number = k;
    call = {};
    call.collective = collective;
    call.dtype = collective == Collective::kBarrier ? SMDDP_DTYPE_NONE : SMDDP_FLOAT32;
    call.count = collective == Collective::kBarrier ? 0 : count;
    call.root = node::has_root_source(collective) || node::has_root_target(collective) ? root : 0;
    const size_t n = static_cast<size_t>(ranks), me = static_cast<size_t>(rank);
    const bool blocks_in = node::sends_blocks(collective);
    const bool blocks_out = collective == Collective::kAllgather || collective == Collective::kGather || collective == Collective::kAlltoall;
    const size_t in = call.count * (blocks_in ? n : 1), out = call.count * (blocks_out ? n : 1);
    send.assign(std::max(in, out), -1.0f);
    recv.assign(std::max(in, out), -2.0f);
    float* from = zero_send ? zero_send : send.data();
    float* to = zero_recv ? zero_recv : recv.data();
    if (in_place || collective == Collective::kBroadcast || collective == Collective::kGatherShares) {
      to = from;
      if (blocks_out && !blocks_in) from = to + me * call.count;
      if (blocks_in && !blocks_out) to = from + me * call.count;
    }
    for (size_t i = 0; i < in; ++i) from[i] = value_of(k, rank, i);
    if (collective == Collective::kBroadcast && rank != root) std::fill(from, from + in, -3.0f);
    call.sendbuf = from;
    call.recvbuf = to;
  }

  // The first wrong index, or −1.
  long wrong(int rank, int ranks) const {
    const auto* result = static_cast<const float*>(call.recvbuf);
    const size_t count = call.count, me = static_cast<size_t>(rank);
    const auto sum = [&](size_t i) {
      float total = value_of(number, 0, i);
      for (int r = 1; r < ranks; ++r) total += value_of(number, r, i);
      return total;
    };
    const auto check = [&](size_t n, auto expected, size_t from = 0) -> long {
      for (size_t i = from; i < n; ++i) {
        if (result[i] != expected(i)) return static_cast<long>(i);
      }
      return -1;
    };
    switch (call.collective) {
      case Collective::kAllreduce: return check(count, sum);
      case Collective::kReduce: return rank == call.root ? check(count, sum) : -1;
      case Collective::kReduceScatter: return check(count, [&](size_t i) { return sum(me * count + i); });
      case Collective::kReduceShares: {
        const smddp::Range share = smddp::share_of(count, ranks, rank);
        return check(share.begin + share.length, sum, share.begin);
      }
      case Collective::kBroadcast: return check(count, [&](size_t i) { return value_of(number, call.root, i); });
      case Collective::kAllgather: return check(count * static_cast<size_t>(ranks), [&](size_t i) { return value_of(number, static_cast<int>(i / count), i % count); });
      case Collective::kGather: return rank == call.root ? check(count * static_cast<size_t>(ranks), [&](size_t i) { return value_of(number, static_cast<int>(i / count), i % count); }) : -1;
      case Collective::kAlltoall: return check(count * static_cast<size_t>(ranks), [&](size_t i) { return value_of(number, static_cast<int>(i / count), me * count + i % count); });
      case Collective::kScatter: return check(count, [&](size_t i) { return value_of(number, call.root, me * count + i); });
      case Collective::kGatherShares:
        for (int r = 0; r < ranks; ++r) {
          const smddp::Range share = smddp::share_of(count, ranks, r);
          const long at = check(share.begin + share.length, [&](size_t i) { return value_of(number, r, i); }, share.begin);
          if (at >= 0) return at;
        }
        return -1;
      default: return -1;
    }
  }
};

inline const Collective kCollectives[] = {Collective::kAllreduce, Collective::kBroadcast, Collective::kReduce,  Collective::kAllgather,
                                          Collective::kReduceScatter, Collective::kAlltoall, Collective::kGather, Collective::kScatter,
                                          Collective::kBarrier, Collective::kReduceShares, Collective::kGatherShares};

}  // namespace test
