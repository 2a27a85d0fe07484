// The way to ranks on other nodes: one transport for the whole context, and what is known of the ranks behind it. The engine's lock guards
// the transport; what the monitor's thread learns waits here until the engine's next round.
#pragma once

#include "base/clock.hpp"
#include "base/types.hpp"
#include "control/operation_ring.hpp"
#include "transport/transport.hpp"

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace smddp::engine {

class Wire {
 public:
  // ranks: of the job; remote: how many of them are on other nodes.
  Wire(std::unique_ptr<transport::Transport> transport, int ranks, int remote);

  transport::Transport& transport() { return *transport_; }

  // Any thread: a rank of another node has died or finalized.
  void note_left(int rank, bool dead, const std::string& sentence);

  // Under the engine's lock: tells the transport of the dead, whose messages end with it. True if there was news.
  bool apply_deaths();

  // Whether a rank of another node has left, and died.
  bool has_left(int rank) const { return !all_there() && !departed(rank).empty(); }
  bool is_dead(int rank) const;
  bool any_dead() const { return !first_death().empty(); }
  std::string first_death() const;  // in words; "" of none

  // Why a rank will say nothing more; "" while it may. One that has finalized may have said things that are still on their way.
  std::string departed(int rank) const;
  bool all_there() const { return left_.load(std::memory_order_acquire) == 0; }
  bool all_left() const { return left_.load(std::memory_order_acquire) >= remote_; }

  // Numbers of this rank's communicators, by which peers address messages to them; −1 when all are in use.
  int take_index();
  void give_index(int index);

 private:
  static constexpr int64_t kOnTheWayMs = 1000;
  struct Rank {
    bool left = false, dead = false, applied = false;
    int64_t since = 0;
    std::string sentence;
  };

  std::unique_ptr<transport::Transport> transport_;
  const int remote_;
  mutable std::mutex mutex_;  // of what follows
  std::vector<Rank> ranks_;
  std::vector<bool> indices_;
  size_t next_index_ = 0;
  std::atomic<bool> news_{false};
  std::atomic<int> left_{0};
};

// What a communicator has moved over the wire. One writer at a time, any reader.
struct Traffic {
  std::atomic<uint64_t> sent{0}, received{0};              // messages
  std::atomic<uint64_t> sent_bytes{0}, received_bytes{0};

  void count_sent(uint64_t bytes) { add(sent, sent_bytes, bytes); }
  void count_received(uint64_t bytes) { add(received, received_bytes, bytes); }

 private:
  static void add(std::atomic<uint64_t>& messages, std::atomic<uint64_t>& sum, uint64_t bytes) {
    messages.store(messages.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    sum.store(sum.load(std::memory_order_relaxed) + bytes, std::memory_order_relaxed);
  }
};

// A communicator's use of the wire.
struct Route {
  Wire& wire;
  std::vector<int> world_ranks;   // by rank in the communicator; behind its ranks, the servers that help them
  std::vector<uint16_t> indices;  // by rank: the number under which it knows the communicator
  std::vector<int> board_ranks;   // by rank: its rank on this node's board; −1 on other nodes
  int rank = 0;
  uint32_t sequence = 0;          // of the last collective, from 1
  uint32_t history = 0;           // of all collectives so far, the same on all members: what every message of one carries
  control::OperationRing ring;    // the last of them
  Traffic traffic = {};
  int servers = 0;                // of world_ranks, the last

  int ranks() const { return static_cast<int>(world_ranks.size()) - servers; }
  // As errors name it: "rank 3", "server 0".
  std::string name(int rank) const { return rank < ranks() ? "rank " + std::to_string(world_ranks[static_cast<size_t>(rank)]) : member_name(rank, ranks()); }

  // What a message to or from a peer is called: the receiver's index 16 | sequence 20 | tag 12 | segment 16.
  uint64_t id(int receiver, uint32_t sequence, uint32_t tag, uint32_t segment) const {
    return static_cast<uint64_t>(indices[static_cast<size_t>(receiver)]) << 48 | static_cast<uint64_t>(sequence & 0xfffff) << 28 |
           static_cast<uint64_t>(tag & 0xfff) << 16 | (segment & 0xffff);
  }
};

}  // namespace smddp::engine
