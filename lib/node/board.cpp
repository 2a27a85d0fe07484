// The board's entry protocol and the operations whose contributions travel with their entry.
#include "node/board.hpp"

#include "base/clock.hpp"
#include "node/shape.hpp"
#include "reduce/reduce.hpp"

#include <sched.h>

#include <cstring>
#include <new>

namespace smddp::node {

#ifdef SMDDP_TEST_HOOK
void (*g_before_flag)() = nullptr;
#endif

namespace {

uint64_t packed_call(const Call& call) {
  return static_cast<uint64_t>(call.collective) | static_cast<uint64_t>(call.op) << 8 | static_cast<uint64_t>(call.dtype) << 24;
}

// The call as its user made it.
const Call& user_call(const Call& call) { return call.whole ? *call.whole : call; }

}  // namespace

uint32_t signature(const Call& call) {
  uint64_t x = static_cast<uint64_t>(call.count) * 0x9e3779b97f4a7c15u;
  x ^= (packed_call(call) | static_cast<uint64_t>(static_cast<uint32_t>(call.root)) << 40) * 0xc2b2ae3d27d4eb4fu;
  x ^= static_cast<uint64_t>(call.algorithm) * 0xd6e8feb86659fd93u;
  x ^= x >> 29;
  x *= 0x165667b19e3779f9u;
  return static_cast<uint32_t>(x >> 32) ^ call.history;
}

namespace {

bool after(uint32_t a, uint32_t b) { return static_cast<int32_t>(a - b) > 0; }

}  // namespace

void Board::format(Arena& arena, uint64_t offset, int ranks, uint32_t first) {
  const size_t n = static_cast<size_t>(ranks);
  const BoardLayout layout(n);
  unsigned char* base = arena.at(offset);
  (new (base) BoardHeader{})->members = ranks;
  Slot* slots = reinterpret_cast<Slot*>(base + layout.slots);
  for (size_t i = 0; i < kSlots * n; ++i) {
    (new (&slots[i]) Slot{})->word.store(static_cast<uint64_t>(first - 1) << 32, std::memory_order_relaxed);
  }
  Progress* progress = reinterpret_cast<Progress*>(base + layout.progress);
  for (size_t i = 0; i < n; ++i) (new (&progress[i]) Progress{})->consumed.store(first - 1, std::memory_order_relaxed);
  std::memset(base + layout.history, 0, n * kHistory * sizeof(CallRecord));
  Mailbox* mail = reinterpret_cast<Mailbox*>(base + layout.mail);
  for (size_t i = 0; i < n * n; ++i) {
    mail[i].written.store(0, std::memory_order_relaxed);
    mail[i].taken.store(0, std::memory_order_relaxed);
  }
}

Board::Board(Group& group, WindowPool& windows, const Tuning& tuning, uint64_t offset, std::vector<int> members, int rank,
             uint32_t first)
    : group_(group),
      windows_(windows),
      tuning_(tuning),
      offset_(offset),
      members_(std::move(members)),
      rank_(rank),
      size_(static_cast<int>(members_.size())),
      header_(*reinterpret_cast<BoardHeader*>(group.arena()->at(offset))),
      sequence_(first),
      safe_(first - 1),
      verified_(first - 1),
      events_seen_(group.events() - 1),  // a member may have left already: the first wait looks
      eager_limit_(std::min(tuning.eager_bytes, eager_bytes(size_))),
      sources_(members_.size()),
      gathered_inline_(members_.size()) {
  const BoardLayout layout(members_.size());
  unsigned char* base = group.arena()->at(offset);
  slots_ = reinterpret_cast<Slot*>(base + layout.slots);
  progress_ = reinterpret_cast<Progress*>(base + layout.progress);
  history_ = reinterpret_cast<CallRecord*>(base + layout.history);
  eager_ = base + layout.eager;
  mail_ = reinterpret_cast<Mailbox*>(base + layout.mail);
}

// Peers may still be reading the last results from this rank's window. They need microseconds; a window that one of them may yet read
// after that is given up rather than given back.
Board::~Board() {
  if (window_ == kNoOffset) return;
  const int64_t limit = deadline_after_ms(200);
  for (int r = 0; r < size_; ++r) {
    const auto behind = [&] {
      return r != rank_ && !all_left() && (progress_[r].gathered.load(std::memory_order_acquire) < stream_base_ ||
                                           progress_[r].reduced.load(std::memory_order_acquire) < stream_base_);
    };
    while (behind()) {
      if (failed() || now_ns() > limit) return;
      sched_yield();
    }
  }
  windows_.give_back(window_);
}

Step Board::step(Operation& operation) {
  switch (operation.phase) {
    case Phase::kBegin: begin(operation); [[fallthrough]];
    case Phase::kEnter: {
      const Step entered = enter(operation);
      if (entered != Step::kMoved) return entered;
      [[fallthrough]];
    }
    case Phase::kCollect: return collect(operation);
    case Phase::kStream: return stream(operation);
    case Phase::kDone: return operation.status.ok() ? Step::kDone : Step::kFailed;
  }
  return Step::kFailed;
}

void Board::begin(Operation& operation) {
  const Call& call = operation.call;
  operation.sequence = sequence_++;
  operation.word = static_cast<uint64_t>(operation.sequence) << 32 | signature(call);
  operation.large = contribution_bytes(call, size_) > eager_limit_;
  operation.phase = Phase::kEnter;
}

Step Board::enter(Operation& operation) {
  if (failed()) return fail_operation(operation);
  const uint32_t sequence = operation.sequence;
  if (backlog_ && !verify_backlog(sequence - 1)) return fail_operation(operation);
  if (!slot_is_free(sequence)) return wait_for(operation);
  expected_[sequence % kSlots] = operation.word;

  const Call& call = operation.call;
  CallRecord& own = record(sequence, rank_);
  own.count.store(user_call(call).count, std::memory_order_relaxed);
  own.call.store(packed_call(user_call(call)) | static_cast<uint64_t>(user_call(call).algorithm) << 40, std::memory_order_relaxed);
  own.root_and_sequence.store(static_cast<uint64_t>(static_cast<uint32_t>(user_call(call).root)) << 32 | sequence, std::memory_order_relaxed);

  Slot& entry = slot(sequence, rank_);
  if (operation.large) {
    prepare_stream(operation);
  } else if (contributes(call, rank_)) {
    const size_t bytes = contribution_bytes(call, size_);
    if (bytes <= kInlineBytes) entry.write(call.sendbuf, bytes, operation.word);
    else reduce::copy(eager(sequence, rank_), call.sendbuf, bytes, group_.streams(bytes));
  }
  if (operation.phase == Phase::kDone) return Step::kFailed;  // no window
  publish(entry.word, operation.word);
  operation.next_peer = 0;
  operation.phase = Phase::kCollect;
  return Step::kMoved;
}

Board::Seen Board::look(uint32_t sequence, uint64_t word, int peer, bool second_line) {
  before_flag();
  const Slot& entry = slot(sequence, peer);
  // The second line was written first; asking for it first brings both lines at the price of one.
  if (second_line) entry.second_word.load(std::memory_order_relaxed);
  const uint64_t seen = entry.word.load(std::memory_order_acquire);
  if (seen == word) return Seen::kYes;
  if (static_cast<uint32_t>(seen >> 32) != sequence) return Seen::kNotYet;
  if (disputes) {
    disputed_ = true;
    return Seen::kNotYet;
  }
  report_mismatch(sequence, peer);
  return Seen::kFailed;
}

Step Board::collect(Operation& operation) {
  const bool second_line = !operation.large && uses_second_line(contribution_bytes(operation.call, size_));
  const bool everybody = operation.large || full_exchange(operation.call.collective);
  for (; operation.next_peer < size_; ++operation.next_peer) {
    const int peer = operation.next_peer;
    if (peer == rank_ || (!everybody && !reads_from(operation.call, rank_, peer))) continue;
    switch (look(operation.sequence, operation.word, peer, second_line)) {
      case Seen::kYes: break;
      case Seen::kNotYet: return wait_for(operation);
      case Seen::kFailed: return fail_operation(operation);
    }
  }
  if (!operation.large) return combine(operation);
  operation.phase = Phase::kStream;
  return stream(operation);
}

// Where the contribution of a rank lies in one piece.
const unsigned char* Board::contribution(const Operation& operation, int rank, size_t bytes) {
  if (bytes > kInlineBytes) return eager(operation.sequence, rank);
  const Slot& entry = slot(operation.sequence, rank);
  if (!uses_second_line(bytes)) return entry.payload;
  unsigned char* whole = gathered_inline_[static_cast<size_t>(rank)].data();
  entry.read(whole, bytes);
  return whole;
}

Step Board::combine(Operation& operation) {
  const Call& call = operation.call;
  const size_t element = dtype_bytes(call.dtype);
  const size_t block = call.count * element;
  const size_t me = static_cast<size_t>(rank_);
  const size_t bytes = contribution_bytes(call, size_);
  unsigned char* out = static_cast<unsigned char*>(call.recvbuf);
  if (bytes && reads(call, rank_)) {
    switch (call.collective) {
      case Collective::kAllreduce:
      case Collective::kReduce:
      case Collective::kReduceScatter:
      case Collective::kReduceShares: {
        const Range share = call.collective == Collective::kReduceShares ? share_of(call, size_, rank_) : Range{0, call.count};
        const size_t skip = call.collective == Collective::kReduceScatter ? me * block : share.begin * element;
        for (int r = 0; r < size_; ++r) {
          const unsigned char* from =
              r == rank_ ? static_cast<const unsigned char*>(call.sendbuf) : contribution(operation, r, bytes);
          sources_[static_cast<size_t>(r)] = from + skip;
        }
        reduce::Arguments arguments;
        arguments.destinations[0] = out + share.begin * element;
        arguments.sources = sources_.data();
        arguments.source_count = size_;
        arguments.count = share.length;
        arguments.divisor = call.divisor;
        arguments.finish = call.finish;
        reduce::kernel(call.dtype, call.op)(arguments);
        break;
      }
      case Collective::kBroadcast: std::memcpy(out, contribution(operation, call.root, bytes), block); break;
      case Collective::kScatter: {
        const unsigned char* from = rank_ == call.root ? static_cast<const unsigned char*>(call.sendbuf) + me * block
                                                       : contribution(operation, call.root, bytes) + me * block;
        if (from != out) std::memcpy(out, from, block);
        break;
      }
      case Collective::kGatherShares:
        for (int r = 0; r < size_; ++r) {
          const Range share = share_of(call, size_, r);
          const unsigned char* from =
              r == rank_ ? static_cast<const unsigned char*>(call.sendbuf) : contribution(operation, r, bytes);
          unsigned char* to = out + share.begin * element;
          if (from + share.begin * element != to) std::memcpy(to, from + share.begin * element, share.length * element);
        }
        break;
      default: {  // allgather, gather, split, dup; alltoall
        const size_t skip = call.collective == Collective::kAlltoall ? me * block : 0;
        for (int r = 0; r < size_; ++r) {
          unsigned char* to = out + static_cast<size_t>(r) * block;
          const unsigned char* from =
              (r == rank_ ? static_cast<const unsigned char*>(call.sendbuf) : contribution(operation, r, bytes)) + skip;
          if (from != to) std::memcpy(to, from, block);
        }
      }
    }
  }
  Counters::add(counters.eager, 1);
  return finish(operation, full_exchange(call.collective));
}

Step Board::finish(Operation& operation, bool full_exchange) {
  operation.phase = Phase::kDone;
  Counters::add(counters.bytes, contribution_bytes(operation.call, size_));
  if (!full_exchange) {
    backlog_ = true;
    return verify_backlog(operation.sequence) ? Step::kDone : fail_operation(operation);
  }
  if (backlog_ && !verify_backlog(operation.sequence)) return fail_operation(operation);
  safe_ = operation.sequence - 1;
  verified_ = operation.sequence;
  return Step::kDone;
}

// Compares what everybody entered into operations that this rank left without seeing all entries, as far as they have come; then the
// slots of those operations are free for reuse. A rank that is ahead by kSlots waits for it, so nothing is ever overwritten unseen; hence
// whoever waits for anything looks here too. through: the last operation whose data this rank needs no more.
bool Board::verify_backlog(uint32_t through) {
  uint32_t checked = verified_;
  while (after(through, checked)) {
    const uint32_t next = checked + 1;
    bool complete = true;
    for (int peer = 0; peer < size_ && complete; ++peer) {
      if (peer == rank_) continue;
      const Seen seen = look(next, expected_[next % kSlots], peer, false);
      if (seen == Seen::kFailed) return false;
      complete = seen == Seen::kYes;
    }
    if (!complete) break;
    checked = next;
  }
  if (checked != verified_) {
    verified_ = checked;
    publish(progress_[rank_].consumed, checked);
  }
  backlog_ = after(through, verified_);
  return true;
}

bool Board::slot_is_free(uint32_t sequence) {
  const uint32_t needed = sequence - kSlots;
  if (!after(needed, safe_)) return true;
  uint32_t lowest = sequence;
  for (int peer = 0; peer < size_; ++peer) {
    before_flag();
    const uint32_t consumed = peer == rank_ ? verified_ : progress_[peer].consumed.load(std::memory_order_acquire);
    if (after(needed, consumed)) return false;
    if (after(lowest, consumed)) lowest = consumed;
  }
  safe_ = after(lowest, safe_) ? lowest : safe_;
  return true;
}

// Whether the operation cannot end without more from this rank.
bool Board::needs(const Operation& operation, int peer) {
  switch (operation.phase) {
    case Phase::kEnter: return after(operation.sequence - kSlots, progress_[peer].consumed.load(std::memory_order_acquire));
    case Phase::kCollect:
      return (operation.large || full_exchange(operation.call.collective) || reads_from(operation.call, rank_, peer)) &&
             slot(operation.sequence, peer).word.load(std::memory_order_acquire) != operation.word;
    case Phase::kStream: {
      const uint64_t end = operation.base + operation.segments;
      return progress_[peer].reduced.load(std::memory_order_acquire) < end || progress_[peer].gathered.load(std::memory_order_acquire) < end;
    }
    default: return false;
  }
}

// Looks at all members that have left, not only at the one that is waited for: that one may itself wait, elsewhere, for this rank. A rank
// that has left may have published what is needed just before, hence one more look before giving up.
Step Board::wait_for(Operation& operation) {
  if (backlog_ && !verify_backlog(operation.sequence - 1)) return fail_operation(operation);
  const uint32_t events = group_.events();
  if (events != events_seen_) {
    if (failed()) return fail_operation(operation);
    somebody_left_ = !group_.departed(members_).empty();
    events_seen_ = events;
  }
  if (!somebody_left_) return Step::kAgain;
  for (int peer = 0; peer < size_; ++peer) {
    if (peer == rank_ || !group_.has_left(members_[static_cast<size_t>(peer)]) || !needs(operation, peer)) continue;
    if (operation.left_peer != peer) {
      operation.left_peer = peer;
      return Step::kMoved;
    }
    fail(SMDDP_ERR_PEER_GONE, group_.departed(members_));
    return fail_operation(operation);
  }
  return Step::kAgain;
}

Step Board::fail_operation(Operation& operation) {
  operation.status = failure(&operation);
  operation.phase = Phase::kDone;
  return Step::kFailed;
}

}  // namespace smddp::node
