#include "node/mail.hpp"

#include "reduce/reduce.hpp"

#include <algorithm>
#include <cstring>
#include <new>

namespace smddp::node {
namespace {

bool matches(const Receive& receive, int source, int tag) {
  return (receive.source == SMDDP_ANY_SOURCE || receive.source == source) && (receive.tag == SMDDP_ANY_TAG || receive.tag == tag);
}

}  // namespace

// An eighth of the heap is for messages, so that no peer's share of it depends on what others receive.
Mail::Mail(Board& board, const Members& members, uint64_t buffer_bytes)
    : board_(board),
      members_(members),
      buffer_bytes_(std::min(buffer_bytes, board.group().heap().bytes() / 8 / static_cast<uint64_t>(members.size()))),
      in_flight_bytes_(static_cast<size_t>(members.size())) {}

Mail::~Mail() {
  // Blocks that receivers have not read stay allocated; the arena ends when its last rank lets go of it.
  reclaim();
}

// Frees the blocks that receivers are done with.
void Mail::reclaim() {
  Arena& arena = *board_.group().arena();
  for (auto it = blocks_.begin(); it != blocks_.end();) {
    const auto* block = reinterpret_cast<const MailBlock*>(arena.at(it->offset));
    if (!block->released.load(std::memory_order_acquire)) {
      ++it;
      continue;
    }
    in_flight_bytes_[static_cast<size_t>(it->peer)] -= board_.group().heap().free(it->offset);
    it = blocks_.erase(it);
  }
}

std::string Mail::where() const {
  return smddp::format(" on comm '%s', rank %d", board_.name.c_str(), members_.world_rank(members_.rank()));
}

bool Mail::refuses(int rank, int tag, size_t bytes, Status& status) const {
  if (board_.failed()) {
    status = board_.failure(nullptr);
  } else if (members_.has_left(rank)) {
    status = {SMDDP_ERR_PEER_GONE, members_.departed(rank) + smddp::format(" before send(%zu bytes, tag %d)", bytes, tag) + where()};
  } else {
    return false;
  }
  return true;
}

Step Mail::send(int rank, int tag, const void* data, size_t bytes, Status& status) {
  if (refuses(rank, tag, bytes, status)) return Step::kFailed;
  const int destination = members_.board_rank(rank);
  MailEntry entry{};
  entry.bytes = bytes;
  entry.offset = kNoOffset;
  entry.tag = tag;
  if (bytes <= kMailInlineBytes) {
    if (bytes) std::memcpy(entry.payload, data, bytes);
  } else {
    // A message larger than the whole share may go alone.
    if (is_full(rank, bytes)) return Step::kAgain;
    const uint64_t offset = receive_block(rank, bytes);
    if (offset == kNoOffset) {
      if (!blocks_.empty()) return Step::kAgain;
      status = {SMDDP_ERR_RESOURCE, smddp::format("no shared memory for a message of %zu bytes from rank %d to rank %d; SMDDP_HEAP_BYTES gives more",
                                                  bytes, members_.world_rank(members_.rank()), members_.world_rank(rank))};
      return Step::kFailed;
    }
    reduce::copy(block_data(offset), data, bytes, board_.group().streams(bytes));
    entry.offset = offset;
  }
  const bool queued = std::any_of(outgoing_.begin(), outgoing_.end(), [&](const Outgoing& o) { return o.destination == destination; });
  if (queued || !push(destination, entry)) outgoing_.push_back({destination, entry});
  return Step::kDone;
}

bool Mail::awaits(int source, int tag) const {
  return std::any_of(posted_.begin(), posted_.end(), [&](const Receive* receive) { return matches(*receive, source, tag); });
}

bool Mail::is_full(int peer, size_t bytes) {
  reclaim();
  const uint64_t in_flight = in_flight_bytes_[static_cast<size_t>(peer)];
  return in_flight > 0 && in_flight + bytes > buffer_bytes_;
}

uint64_t Mail::receive_block(int peer, size_t bytes) {
  Heap& heap = board_.group().heap();
  const uint64_t offset = heap.allocate(sizeof(MailBlock) + bytes);
  if (offset == kNoOffset) return offset;
  auto* block = new (board_.group().arena()->at(offset)) MailBlock{};
  block->released.store(0, std::memory_order_relaxed);
  blocks_.push_back({offset, peer});
  in_flight_bytes_[static_cast<size_t>(peer)] += heap.block_bytes(offset);
  return offset;
}

void Mail::drop_block(uint64_t offset) {
  reinterpret_cast<MailBlock*>(board_.group().arena()->at(offset))->released.store(1, std::memory_order_release);
}

bool Mail::push(int destination, const MailEntry& entry) {
  Mailbox& box = board_.mailbox(destination, board_.rank());
  const uint64_t written = box.written.load(std::memory_order_relaxed);
  if (written - box.taken.load(std::memory_order_acquire) >= kMailEntries) return false;
  box.entries[written % kMailEntries] = entry;
  board_.group().publish(box.written, written + 1, board_.members());
  if (destination == board_.rank()) board_.group().ring_self();
  return true;
}

void Mail::deliver(const Arrived& arrived, Receive& receive) {
  const MailEntry& entry = arrived.entry;
  Arena& arena = *board_.group().arena();
  const unsigned char* data = entry.offset == kNoOffset ? entry.payload : arena.at(entry.offset) + sizeof(MailBlock);
  const size_t bytes = std::min<size_t>(entry.bytes, receive.capacity);
  if (bytes) std::memcpy(receive.buffer, data, bytes);
  if (entry.offset != kNoOffset) reinterpret_cast<MailBlock*>(arena.at(entry.offset))->released.store(1, std::memory_order_release);
  receive.message_source = arrived.source;
  receive.message_tag = entry.tag;
  receive.message_bytes = entry.bytes;
  if (entry.bytes > receive.capacity) {
    receive.status = {SMDDP_ERR_TRUNCATED,
                      smddp::format("message of %zu bytes from rank %d, tag %d, is longer than the receive buffer of %zu bytes on rank %d, comm '%s'",
                                    static_cast<size_t>(entry.bytes), members_.world_rank(arrived.source), entry.tag, receive.capacity,
                                    members_.world_rank(members_.rank()), board_.name.c_str())};
  }
  receive.done = true;
}

void Mail::arrive(int source, const MailEntry& entry) {
  const Arrived arrived{source, entry};
  const auto match = std::find_if(posted_.begin(), posted_.end(), [&](const Receive* r) { return matches(*r, source, entry.tag); });
  if (match == posted_.end()) {
    unexpected_.push_back(arrived);
    return;
  }
  Receive& receive = **match;
  posted_.erase(match);
  deliver(arrived, receive);
}

// Empties all mailboxes of this rank into the receives that match, or into the list of the unexpected.
bool Mail::take_all() {
  bool moved = false;
  for (int source = 0; source < board_.size(); ++source) {
    Mailbox& box = board_.mailbox(board_.rank(), source);
    uint64_t taken = box.taken.load(std::memory_order_relaxed);
    const uint64_t written = box.written.load(std::memory_order_acquire);
    if (taken == written) continue;
    for (; taken != written; ++taken) arrive(members_.rank_on_board(source), box.entries[taken % kMailEntries]);
    board_.group().publish(box.taken, taken, board_.members());
    moved = true;
  }
  return moved;
}

void Mail::post(Receive& receive) {
  take_all();
  const auto match = std::find_if(unexpected_.begin(), unexpected_.end(), [&](const Arrived& a) { return matches(receive, a.source, a.entry.tag); });
  if (match != unexpected_.end()) {
    deliver(*match, receive);
    unexpected_.erase(match);
    return;
  }
  posted_.push_back(&receive);
}

void Mail::cancel(Receive& receive) { posted_.remove(&receive); }

bool Mail::progress() {
  bool moved = take_all();
  std::vector<bool> blocked(static_cast<size_t>(board_.size()), false);
  for (auto it = outgoing_.begin(); it != outgoing_.end();) {
    const auto to = static_cast<size_t>(it->destination);
    if (blocked[to] || !push(it->destination, it->entry)) {
      blocked[to] = true;
      ++it;
      continue;
    }
    it = outgoing_.erase(it);
    moved = true;
  }
  return moved;
}

bool Mail::drop_hopeless() {
  const size_t before = outgoing_.size() + posted_.size();
  take_all();  // what the departed sent before they left still counts
  const Group& group = board_.group();
  std::erase_if(outgoing_, [&](const Outgoing& o) { return group.has_left(board_.members()[static_cast<size_t>(o.destination)]); });
  for (auto it = posted_.begin(); it != posted_.end();) {
    Receive& receive = **it;
    std::string who;
    if (board_.failed()) {
      receive.status = board_.failure(nullptr);
    } else {
      // From anybody: hopeless once a rank has died, or when all others have left.
      int left = 0;
      bool died = false;
      for (int r = 0; r < members_.size(); ++r) {
        if (r == members_.rank() || !members_.has_left(r)) continue;
        ++left;
        died = died || members_.is_dead(r);
      }
      if (receive.source != SMDDP_ANY_SOURCE) who = members_.has_left(receive.source) ? members_.departed(receive.source) : "";
      else if (died || (left > 0 && left == members_.size() - 1)) who = members_.departed(-1);
      if (who.empty()) {
        ++it;
        continue;
      }
      receive.status.code = SMDDP_ERR_PEER_GONE;
      receive.status.text = who;
    }
    receive.status.text += smddp::format(" during recv(%zu bytes, source %d, tag %d)", receive.capacity, receive.source, receive.tag) + where();
    receive.done = true;
    it = posted_.erase(it);
  }
  return outgoing_.size() + posted_.size() != before;
}

}  // namespace smddp::node
