// A communicator's place in the arena, seen from one of its ranks: entry slots, stream counters, call history, failure record. Runs one
// collective at a time, in call order; the thread that calls step() is alone with it.
#pragma once

#include "node/group.hpp"
#include "node/operation.hpp"
#include "node/test_hook.hpp"
#include "node/window.hpp"

#include <array>
#include <string>
#include <vector>

namespace smddp::node {

// What a board counts for users and tests. One writer at a time, any reader: an addition is a plain load and store.
struct Counters {
  std::atomic<uint64_t> fast_path{0}, eager{0}, two_copy{0}, zero_copy{0}, bytes{0};

  static void add(std::atomic<uint64_t>& counter, uint64_t value) {
    counter.store(counter.load(std::memory_order_relaxed) + value, std::memory_order_relaxed);
  }
  void add(const Counters& other) {
    add(fast_path, other.fast_path.load(std::memory_order_relaxed));
    add(eager, other.eager.load(std::memory_order_relaxed));
    add(two_copy, other.two_copy.load(std::memory_order_relaxed));
    add(zero_copy, other.zero_copy.load(std::memory_order_relaxed));
    add(bytes, other.bytes.load(std::memory_order_relaxed));
  }
};

// Sizes that shape the protocol; equal on all ranks.
struct Tuning {
  size_t eager_bytes = kMaxEagerBytes;  // limit beside that of the protocol
  size_t segment_bytes = 0;  // 0: chosen
};

class Board {
 public:
  // Bytes of a board for so many ranks; format() makes them ready before any member attaches. first: number of the first operation.
  static uint64_t bytes(int ranks) { return BoardLayout(static_cast<size_t>(ranks)).bytes; }
  static void format(Arena& arena, uint64_t offset, int ranks, uint32_t first = 1);

  // members: local ranks by rank in the communicator; global_ranks: the same as ranks of the world, for messages.
  Board(Group& group, WindowPool& windows, const Tuning& tuning, uint64_t offset, std::vector<int> members, int rank, uint32_t first = 1);
  ~Board();

  int rank() const { return rank_; }
  int size() const { return size_; }
  uint64_t offset() const { return offset_; }
  Group& group() const { return group_; }
  const std::vector<int>& members() const { return members_; }
  int global_rank(int rank) const { return group_.global_rank(members_[static_cast<size_t>(rank)]); }
  Mailbox& mailbox(int receiver, int sender) const { return mail_[static_cast<size_t>(receiver) * static_cast<size_t>(size_) + static_cast<size_t>(sender)]; }

  std::string name;  // for messages
  bool disputes = false;  // of a part of a communicator: a mismatch is left to those who ask all members; see disputed()
  Counters counters;

  // Moves the operation on. Never blocks. After kFailed the board stays failed.
  Step step(Operation& operation);

  // Whether some rank has broken this communicator.
  bool failed() const { return header_.failure.load(std::memory_order_acquire) == static_cast<uint32_t>(FailureState::kReady); }

  // Whether this rank has seen an entry of another call. Its operation goes on waiting.
  bool disputed() const { return disputed_; }

  // Writes the failure record unless another rank was first, wakes everybody. Any thread.
  void fail(smddp_status_t code, const std::string& text);

  // The error that this rank reports for the failure. call: nullable, what it was doing.
  Status failure(const Operation* operation) const;

  // At the deadline: who is missing or slow. Fails the board.
  Status time_out(const Operation& operation, int64_t timeout_ms);

  // Marks this rank as having freed the communicator; true if it was the last.
  bool leave() { return header_.left.fetch_add(1, std::memory_order_acq_rel) + 1 == static_cast<uint32_t>(size_); }
  bool all_left() const { return header_.left.load(std::memory_order_acquire) == static_cast<uint32_t>(size_); }

  uint32_t sequence() const { return sequence_; }

 private:
  enum class Seen : uint8_t { kYes, kNotYet, kFailed };

  void begin(Operation& operation);
  Step enter(Operation& operation);
  Step collect(Operation& operation);
  Step combine(Operation& operation);
  Step stream(Operation& operation);
  Step finish(Operation& operation, bool full_exchange);
  bool needs(const Operation& operation, int peer);
  Step wait_for(Operation& operation);
  Step fail_operation(Operation& operation);

  void prepare_stream(Operation& operation);
  const Descriptor& descriptor(const Operation& operation, int rank) const {
    return *reinterpret_cast<const Descriptor*>(slot(operation.sequence, rank).payload);
  }
  bool post_segment(Operation& operation);
  bool reduce_segment(Operation& operation);
  void write_result(const Operation& operation, uint32_t segment, size_t count);
  bool share_segment(Operation& operation);
  bool gather_segment(Operation& operation);
  bool is_lagging(std::atomic<uint64_t> Progress::*counter, uint64_t target, int only) const;
  unsigned char* piece_window(uint64_t window, uint32_t segment, int piece) const;

  Seen look(uint32_t sequence, uint64_t word, int peer, bool second_line);
  bool verify_backlog(uint32_t through);
  bool slot_is_free(uint32_t sequence);
  void report_mismatch(uint32_t sequence, int peer);
  std::string recorded_call(int rank, uint32_t sequence) const;

  Slot& slot(uint32_t sequence, int rank) const { return slots_[(sequence % kSlots) * static_cast<uint32_t>(size_) + static_cast<uint32_t>(rank)]; }
  CallRecord& record(uint32_t sequence, int rank) const { return history_[static_cast<uint32_t>(rank) * kHistory + sequence % kHistory]; }
  unsigned char* eager(uint32_t sequence, int rank) const { return eager_ + ((sequence % kSlots) * static_cast<size_t>(size_) + static_cast<size_t>(rank)) * eager_bytes(size_); }
  const unsigned char* contribution(const Operation& operation, int rank, size_t bytes);
  template <class T>
  void publish(std::atomic<T>& word, T value) {
    before_flag();
    group_.publish(word, value, members_);
  }

  Group& group_;
  WindowPool& windows_;
  const Tuning& tuning_;
  uint64_t offset_;
  std::vector<int> members_;
  int rank_, size_;

  BoardHeader& header_;
  Slot* slots_;
  Progress* progress_;
  CallRecord* history_;
  unsigned char* eager_;
  Mailbox* mail_;

  uint32_t sequence_;        // of the next operation
  uint32_t safe_;            // every peer has consumed up to here
  uint32_t verified_;        // this rank has compared everybody's entry up to here
  bool backlog_ = false;     // operations without a full exchange since verified_
  uint64_t expected_[kSlots] = {};
  uint64_t stream_base_ = 0;  // segments of all large operations so far
  uint32_t events_seen_;
  bool somebody_left_ = false;
  bool disputed_ = false;
  uint64_t window_ = kNoOffset;
  size_t eager_limit_;
  struct Target {
    unsigned char* memory;
    bool past_cache;
  };
  std::vector<const void*> sources_;
  std::vector<Target> targets_;  // of a result
  std::vector<std::array<unsigned char, kInlineBytes>> gathered_inline_;  // contributions that use both lines of their slot
};

}  // namespace smddp::node
