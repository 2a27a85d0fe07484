// The ranks of one context that share an arena, seen from one of them: doorbells, life and death, and the events that every waiter polls.
#pragma once

#include "base/unique_fd.hpp"
#include "node/arena.hpp"

#include <memory>
#include <string>
#include <vector>

namespace smddp::node {

class Group {
 public:
  // fences_all: whether all ranks of the node accept the sleeper's fence (node/sleeper_fence.hpp).
  Group(std::shared_ptr<Arena> arena, std::vector<UniqueFd> doorbells, std::vector<int> global_ranks, int local_rank, bool fences_all);

  const std::shared_ptr<Arena>& arena() const { return arena_; }
  Heap& heap() const { return heap_; }
  int local_rank() const { return local_rank_; }
  int size() const { return static_cast<int>(doorbells_.size()); }
  int global_rank(int local_rank) const { return global_ranks_[static_cast<size_t>(local_rank)]; }

  // Grows with every death, finalize and failure. One cached load.
  uint32_t events() const { return header_.events.load(std::memory_order_acquire); }

  // Stores what peers may sleep for, and wakes those of the members (local ranks) that do.
  template <class T>
  void publish(std::atomic<T>& word, T value, const std::vector<int>& members) const {
    if (fences_all_) {
      word.store(value, kPublishOrder);
      std::atomic_signal_fence(std::memory_order_seq_cst);
    } else {
      word.store(value, kFencedPublishOrder);
    }
    if (header_.sleepers.load(std::memory_order_seq_cst) != 0) ring_sleeping(members);
  }

  // Whether a piece of so many bytes that a peer reads next is written past the caches (node/stores.hpp).
  bool streams(size_t bytes) const { return bytes >= header_.stream_bytes.load(std::memory_order_relaxed); }
  void set_stream_bytes(uint64_t bytes) { header_.stream_bytes.store(bytes, std::memory_order_relaxed); }

  // Announces an event and wakes everybody.
  void raise_event() const;

  // One thread of this rank at a time: begin_sleep, look once more whether there is work, sleep unless there is, end_sleep.
  void begin_sleep() const;
  void sleep(int64_t timeout_us, int fd = -1) const;  // until somebody rings or the descriptor, if given, is readable
  void end_sleep() const;

  // Wakes the sleeping thread of this very rank.
  void ring_self() const;

  RankState state(int local_rank) const {
    return static_cast<RankState>(arena_->rank_line(local_rank).state.load(std::memory_order_acquire));
  }

  bool has_left(int local_rank) const {
    const RankState state = this->state(local_rank);
    return state == RankState::kDead || state == RankState::kFinalized;
  }

  // The first writer wins; an event follows. False if the rank had died or finalized before.
  bool mark(int local_rank, RankState state, DeathReason reason);

  // This rank finalizes. cause: the death of a rank of another node that it knows of, "" of none. Peers that see it gone know the cause
  // too, though their own monitors may not have heard of it yet.
  void finalize(const std::string& cause);

  // "rank 3 died (connection closed)": who of the members (local ranks) left first, the dead before the finalized. Empty if none did.
  std::string departed(const std::vector<int>& members) const;

  // Of any rank of the job, as this node knows; "" of none.
  std::string first_death() const;

  // Closes in a forked child what would hide this process's death from its peers.
  void abandon_in_child();

  uint64_t rings() const { return rings_.load(std::memory_order_relaxed); }

 private:
#ifdef SMDDP_TEST_DROP_RELEASE  // a test builds this once to show that ThreadSanitizer sees what the release store is for
  static constexpr std::memory_order kPublishOrder = std::memory_order_relaxed, kFencedPublishOrder = kPublishOrder;
#else
  static constexpr std::memory_order kPublishOrder = std::memory_order_release, kFencedPublishOrder = std::memory_order_seq_cst;
#endif

  int first_departed(const std::vector<int>& ranks) const;
  std::string death(int local_rank) const;
  void ring_sleeping(const std::vector<int>& members) const;
  void ring(int local_rank) const;

  std::shared_ptr<Arena> arena_;
  ArenaHeader& header_;
  Heap& heap_;
  std::vector<UniqueFd> doorbells_;
  std::vector<int> global_ranks_;
  int local_rank_;
  const bool fences_all_;
  mutable std::atomic<uint64_t> rings_{0};
};

}  // namespace smddp::node
