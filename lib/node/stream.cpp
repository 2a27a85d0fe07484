// Large operations: segments flow through windows, or straight from and to memory that peers can reach, in up to two phases.
//
// Exchange (allreduce, reduce, reduce_scatter, alltoall, scatter): a rank copies its pieces for all others into its window ("posted"), or
// leaves them where they are if sendbuf lies in the arena; each rank reduces or collects the pieces of its share ("reduced").
// Share (allreduce, reduce, allgather, broadcast, gather): results, or for the last three the contributions, are put where readers
// reach them: pushed into a reader's recvbuf if that lies in the arena, else read from the owner's recvbuf, sendbuf or window ("gathered").
// Cost for p ranks and n bytes of allreduce on private buffers: every rank copies (p − 1)/p n into its window, reads n/p from each
// window, writes n/p twice and reads (p − 1)/p n of results. Reduction is in rank order.
#include "node/board.hpp"

#include "node/shape.hpp"
#include "reduce/reduce.hpp"

#include <cstring>
#include <new>

namespace smddp::node {
namespace {

// From here on, results are written past the cache: they would only evict what is still needed.
constexpr size_t kStreamBytes = 1u << 20;

bool outgrows_cache(const Call& call, int size) { return contribution_bytes(call, size) >= kStreamBytes; }

// Where a contribution that all readers take whole begins in sendbuf.
size_t send_begin(const Call& call, const Range& piece) { return cuts_shares(call.collective) ? piece.begin : 0; }

// The piece of rank r in a vector that the collective cuts: equal shares of one vector, or one block each.
Range piece_of(const Call& call, int size, int r) {
  if (cuts_shares(call.collective)) return share_of(call, size, r);
  if (call.collective == Collective::kBroadcast) return {0, call.count};
  return {static_cast<size_t>(r) * call.count, call.count};
}

}  // namespace

// Chooses the segment, finds out which buffers peers can reach, leases a window where one may be needed, and writes the descriptor.
void Board::prepare_stream(Operation& operation) {
  const Call& call = operation.call;
  const size_t element = dtype_bytes(call.dtype);
  const bool exchange = has_exchange(call.collective);
  const size_t longest = piece_of(call, size_, 0).length;
  size_t limit = window_segment_bytes(size_);
  if (!exchange) limit *= static_cast<size_t>(size_ + 1);  // the parts for pieces serve too
  size_t bytes = tuning_.segment_bytes ? std::min(tuning_.segment_bytes, limit)
                                       : std::min(limit, std::max<size_t>(16 * 1024, (longest * element + 3) / 4));
  bytes = std::max(bytes, kShareElements * element);
  operation.segment_elements = std::min(bytes, limit) / element / kShareElements * kShareElements;
  operation.segments = static_cast<uint32_t>((longest + operation.segment_elements - 1) / operation.segment_elements);
  operation.base = stream_base_;
  operation.posted = operation.reduced = operation.gathered = 0;

  const Arena& arena = *group_.arena();
  const size_t send_bytes = contribution_bytes(call, size_);
  const size_t blocks = call.collective == Collective::kAllgather || call.collective == Collective::kGather ||
                                call.collective == Collective::kAlltoall
                            ? static_cast<size_t>(size_)
                            : 1;
  Descriptor own{kNoOffset, kNoOffset, kNoOffset};
  // In place, an alltoall overwrites what its peers have yet to read, so its pieces go through the window.
  if (contributes(call, rank_) && !(call.collective == Collective::kAlltoall && call.sendbuf == call.recvbuf)) {
    own.send_offset = arena.offset_of(call.sendbuf, send_bytes);
  }
  if (exchange && has_share(call.collective) && reads(call, rank_)) {
    own.recv_offset = arena.offset_of(call.recvbuf, call.count * element * blocks);
  }
  operation.zero_send = own.send_offset != kNoOffset;
  operation.zero_recv = own.recv_offset != kNoOffset;
  const bool pieces_need_window = contributes(call, rank_) && !operation.zero_send;
  const bool results_need_window = exchange && has_share(call.collective) && !operation.zero_recv;
  if (pieces_need_window || results_need_window) {
    if (window_ == kNoOffset) window_ = windows_.lease(window_bytes(size_));
    if (window_ == kNoOffset) {
      fail(SMDDP_ERR_RESOURCE, smddp::format("rank %d has no shared memory left for a window of %zu bytes in %s on comm '%s'; SMDDP_HEAP_BYTES "
                                             "or smddp_free gives more", global_rank(rank_), window_bytes(size_), call_text(call).c_str(), name.c_str()));
      fail_operation(operation);
      return;
    }
    own.window_offset = window_;
    Counters::add(counters.two_copy, 1);
  } else if (operation.zero_send || operation.zero_recv) {
    Counters::add(counters.zero_copy, 1);
  }
  new (slot(operation.sequence, rank_).payload) Descriptor(own);
}

// Whether a rank's counter is below target: rank `only`, or any but this one if that is −1.
bool Board::is_lagging(std::atomic<uint64_t> Progress::*counter, uint64_t target, int only) const {
  for (int i = 1; i < size_; ++i) {
    const int r = rank_ + i < size_ ? rank_ + i : rank_ + i - size_;
    before_flag();
    if ((only >= 0 && r != only) || (progress_[r].*counter).load(std::memory_order_acquire) >= target) continue;
    return true;
  }
  return false;
}

// piece size_ is the part for results.
unsigned char* Board::piece_window(uint64_t window, uint32_t segment, int piece) const {
  const size_t part = window_segment_bytes(size_);
  return group_.arena()->at(window) + ((segment % kWindowSegments) * static_cast<size_t>(size_ + 1) + static_cast<size_t>(piece)) * part;
}

bool Board::post_segment(Operation& operation) {
  const Call& call = operation.call;
  const uint32_t k = operation.posted;
  if (k >= operation.segments) return false;
  if (!contributes(call, rank_) || operation.zero_send) {
    operation.posted = operation.segments;
    return true;
  }
  if (k >= kWindowSegments && is_lagging(&Progress::reduced, operation.base + k - kWindowSegments + 1, -1)) return false;
  const size_t element = dtype_bytes(call.dtype);
  for (int i = 1; i < size_; ++i) {
    const int r = (rank_ + i) % size_;
    const Range piece = piece_of(call, size_, r);
    const Range part = segment_of(piece.length, k, operation.segment_elements);
    const unsigned char* from = static_cast<const unsigned char*>(call.sendbuf) + (piece.begin + part.begin) * element;
    reduce::copy(piece_window(window_, k, r), from, part.length * element, group_.streams(part.length * element));
  }
  ++operation.posted;
  publish(progress_[rank_].posted, operation.base + operation.posted);
  return true;
}

// Reduces sources_ to where the result goes: this rank's own recvbuf, recvbufs of readers that lie in the arena, the window for all other
// readers. Two of them in one pass; the rest is copied while it is in the cache.
void Board::write_result(const Operation& operation, uint32_t k, size_t count) {
  const Call& call = operation.call;
  const size_t element = dtype_bytes(call.dtype), bytes = count * element;
  const Range piece = piece_of(call, size_, rank_);
  const size_t begin = segment_of(piece.length, k, operation.segment_elements).begin;
  const size_t at = (call.collective == Collective::kReduceScatter ? begin : piece.begin + begin) * element;
  const bool to_peers = has_share(call.collective), past_for_peers = group_.streams(bytes), large = size_ == 2 && outgrows_cache(call, size_);
  targets_.clear();
  if (reads(call, rank_)) targets_.push_back({static_cast<unsigned char*>(call.recvbuf) + at, false});
  bool read_from_here = false;
  for (int r = 0; to_peers && r < size_; ++r) {
    if (r == rank_ || !reads(call, r)) continue;
    const uint64_t recv = descriptor(operation, r).recv_offset;
    if (recv == kNoOffset) read_from_here = true;
    else targets_.push_back({group_.arena()->at(recv) + at, past_for_peers || large});
  }
  if (read_from_here && !operation.zero_recv) targets_.push_back({piece_window(window_, k, size_), past_for_peers});
  if (targets_.empty()) return;
  // A result that goes nowhere else from here may leave the cache: it is large, or peers read it in recvbuf.
  if (targets_.size() <= 2 && reads(call, rank_)) {
    targets_[0].past_cache = read_from_here && operation.zero_recv ? past_for_peers : large;
  }
  const Target first = targets_[0], second = targets_.size() > 1 ? targets_[1] : Target{nullptr, false};
  const bool swap = second.past_cache && !first.past_cache;
  reduce::Arguments arguments;
  arguments.destinations[0] = swap ? second.memory : first.memory;
  arguments.destinations[1] = swap ? first.memory : second.memory;
  arguments.stream = first.past_cache || second.past_cache;
  arguments.stream_second = first.past_cache && second.past_cache;
  arguments.sources = sources_.data();
  arguments.source_count = size_;
  arguments.count = count;
  arguments.divisor = call.divisor;
  arguments.finish = call.finish;
  reduce::kernel(call.dtype, call.op)(arguments);
  for (size_t i = 2; i < targets_.size(); ++i) reduce::copy(targets_[i].memory, first.memory, bytes, targets_[i].past_cache);
}

// Reduces or collects segment k of this rank's share from all contributors, and puts the result where its readers find it.
bool Board::reduce_segment(Operation& operation) {
  const Call& call = operation.call;
  const uint32_t k = operation.reduced;
  if (k >= operation.segments) return false;
  const bool shared = has_share(call.collective);
  const int reader = has_root_target(call.collective) ? call.root : -1;
  for (int r = 0; r < size_; ++r) {
    if (r == rank_ || !contributes(call, r) || descriptor(operation, r).send_offset != kNoOffset) continue;
    if (is_lagging(&Progress::posted, operation.base + k + 1, r)) return false;
  }
  if (k >= operation.posted) return false;  // in place, the results of a segment overwrite what has yet to be posted
  if (shared && !operation.zero_recv && k >= kWindowSegments &&
      is_lagging(&Progress::gathered, operation.base + k - kWindowSegments + 1, reader)) {
    return false;
  }

  const size_t element = dtype_bytes(call.dtype);
  const Range piece = piece_of(call, size_, rank_);
  const Range part = segment_of(piece.length, k, operation.segment_elements);
  const size_t bytes = part.length * element;
  const size_t at = (piece.begin + part.begin) * element;  // in a vector that is cut
  Arena& arena = *group_.arena();
  for (int r = 0; r < size_; ++r) {
    const uint64_t send = r == rank_ ? kNoOffset : descriptor(operation, r).send_offset;
    sources_[static_cast<size_t>(r)] = r == rank_ ? static_cast<const unsigned char*>(call.sendbuf) + at
                                       : send != kNoOffset ? arena.at(send) + at
                                       : contributes(call, r) ? piece_window(descriptor(operation, r).window_offset, k, rank_) : nullptr;
  }
  if (!reduces(call.collective)) {
    for (int r = 0; r < size_ && bytes; ++r) {
      if (!contributes(call, r)) continue;
      const size_t block = call.collective == Collective::kAlltoall ? static_cast<size_t>(r) * call.count * element : 0;
      unsigned char* to = static_cast<unsigned char*>(call.recvbuf) + block + part.begin * element;
      if (to != sources_[static_cast<size_t>(r)]) reduce::copy(to, sources_[static_cast<size_t>(r)], bytes, outgrows_cache(call, size_));
    }
  } else if (bytes) {
    write_result(operation, k, part.length);
  }
  ++operation.reduced;
  publish(progress_[rank_].reduced, operation.base + operation.reduced);
  return true;
}

// Exposes segment k of a contribution that all readers take whole (allgather, broadcast, gather).
bool Board::share_segment(Operation& operation) {
  const Call& call = operation.call;
  const uint32_t k = operation.reduced;
  if (k >= operation.segments) return false;
  if (!contributes(call, rank_) || operation.zero_send) {
    operation.reduced = operation.segments;
    publish(progress_[rank_].reduced, operation.base + operation.reduced);
    return true;
  }
  const int reader = has_root_target(call.collective) ? call.root : -1;
  if (reader != rank_) {
    if (k >= kWindowSegments && is_lagging(&Progress::gathered, operation.base + k - kWindowSegments + 1, reader)) return false;
    const size_t element = dtype_bytes(call.dtype);
    const Range piece = piece_of(call, size_, rank_);
    const Range part = segment_of(piece.length, k, operation.segment_elements);
    const size_t at = (send_begin(call, piece) + part.begin) * element;
    reduce::copy(piece_window(window_, k, 0), static_cast<const unsigned char*>(call.sendbuf) + at, part.length * element,
                 group_.streams(part.length * element));
  }
  ++operation.reduced;
  publish(progress_[rank_].reduced, operation.base + operation.reduced);
  return true;
}

// Reads segment k of every other rank's share.
bool Board::gather_segment(Operation& operation) {
  const Call& call = operation.call;
  const uint32_t k = operation.gathered;
  if (k >= operation.segments) return false;
  const bool exchange = has_exchange(call.collective);
  if (!has_share(call.collective) || !reads(call, rank_)) {
    operation.gathered = operation.segments;
    publish(progress_[rank_].gathered, operation.base + operation.gathered);
    return true;
  }
  for (int r = 0; r < size_; ++r) {
    if (r == rank_ || !(exchange || contributes(call, r))) continue;
    if (is_lagging(&Progress::reduced, operation.base + k + 1, r)) return false;
  }
  const size_t element = dtype_bytes(call.dtype);
  const Arena& arena = *group_.arena();
  const bool past_cache = outgrows_cache(call, size_);
  for (int i = 0; i < size_ && !operation.zero_recv; ++i) {
    const int r = (rank_ + i) % size_;
    if ((r == rank_ && exchange) || !(exchange || contributes(call, r))) continue;
    const Range piece = piece_of(call, size_, r);
    const Range part = segment_of(piece.length, k, operation.segment_elements);
    const size_t at = (piece.begin + part.begin) * element;
    const size_t sent = (send_begin(call, piece) + part.begin) * element;
    const Descriptor& theirs = descriptor(operation, r);
    const unsigned char* from =
        r == rank_                                           ? static_cast<const unsigned char*>(call.sendbuf) + sent
        : exchange && theirs.recv_offset != kNoOffset        ? arena.at(theirs.recv_offset) + at
        : !exchange && theirs.send_offset != kNoOffset       ? arena.at(theirs.send_offset) + sent
                                                             : piece_window(theirs.window_offset, k, exchange ? size_ : 0);
    unsigned char* to = static_cast<unsigned char*>(call.recvbuf) + at;
    if (to != from && part.length) reduce::copy(to, from, part.length * element, past_cache);
  }
  ++operation.gathered;
  publish(progress_[rank_].gathered, operation.base + operation.gathered);
  return true;
}

Step Board::stream(Operation& operation) {
  const Call& call = operation.call;
  const bool exchange = has_exchange(call.collective);
  bool moved = false;
  for (bool again = true; again;) {
    again = exchange && post_segment(operation);
    again |= exchange ? reduce_segment(operation) : share_segment(operation);
    again |= gather_segment(operation);
    moved |= again;
  }
  const uint64_t end = operation.base + operation.segments;
  if ((exchange && operation.posted < operation.segments) || operation.reduced < operation.segments ||
      operation.gathered < operation.segments) {
    return moved ? Step::kMoved : wait_for(operation);
  }
  // Peers may still read this rank's user buffers, or its window, which the next operation does not touch before all have entered it.
  const bool exposed = operation.zero_send || operation.zero_recv || !windows_.may_keep();
  if (exposed) {
    if (is_lagging(&Progress::reduced, end, -1) || is_lagging(&Progress::gathered, end, -1)) {
      return wait_for(operation);
    }
    if (window_ != kNoOffset && !windows_.may_keep()) {
      windows_.give_back(window_);
      window_ = kNoOffset;
    }
  }
  stream_base_ = end;
  progress_[rank_].posted.store(end, std::memory_order_release);
  return finish(operation, true);
}

}  // namespace smddp::node
