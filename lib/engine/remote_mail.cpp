#include "engine/remote_mail.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace smddp::engine {
namespace {

constexpr size_t kLetterHead = 16;

}  // namespace

RemoteMail::RemoteMail(Route& route, node::Mail& mail, const node::Members& members)
    : route_(route), mail_(mail), members_(members), outgoing_bytes_(route.world_ranks.size()), sent_(route.world_ranks.size()), incoming_(route.world_ranks.size()) {
  static_assert(offsetof(Letter, data) == kLetterHead);
}

// Letters and parcels have tags that no schedule reaches; the number's upper bits are where segments have theirs.
uint64_t RemoteMail::id(int receiver, uint64_t number, bool parcel) const {
  return route_.id(receiver, static_cast<uint32_t>(number & 0xfffff), parcel ? kParcelTag : kLetterTag, static_cast<uint32_t>(number >> 20 & 0xffff));
}

node::Step RemoteMail::send(int rank, int tag, const void* data, size_t bytes, Status& status) {
  if (mail_.refuses(rank, tag, bytes, status)) return node::Step::kFailed;
  const bool is_long = bytes > node::kMailInlineBytes;
  uint64_t& in_flight = outgoing_bytes_[static_cast<size_t>(rank)];
  if (is_long && in_flight > 0 && in_flight + bytes > mail_.buffer_bytes()) return node::Step::kAgain;
  Outgoing& message = outgoing_.emplace_back();
  message.rank = rank;
  message.number = sent_[static_cast<size_t>(rank)]++;
  message.letter.bytes = bytes;
  message.letter.tag = tag;
  if (is_long) {
    message.parcel.reset(new unsigned char[bytes]);
    in_flight += bytes;
  }
  if (bytes) std::memcpy(is_long ? message.parcel.get() : message.letter.data, data, bytes);
  advance(message);
  return node::Step::kDone;
}

void RemoteMail::listen(int rank) {
  for (int r = 0; r < members_.size(); ++r) {
    if ((rank != SMDDP_ANY_SOURCE && r != rank) || members_.board_rank(r) >= 0) continue;
    Incoming& incoming = incoming_[static_cast<size_t>(r)];
    if (incoming.stage != Stage::kSilent) continue;
    incoming.stage = Stage::kListening;
    listening_.push_back(r);
  }
}

// True if it moved.
bool RemoteMail::advance(Outgoing& message) {
  transport::Transport& transport = route_.wire.transport();
  bool moved = false;
  if (!message.letter_sent) {
    const size_t bytes = kLetterHead + (message.parcel ? 0 : message.letter.bytes);
    message.letter_sent = transport.send(world_rank(message.rank), id(message.rank, message.number, false), &message.letter, bytes, &message.letter_event);
    moved = message.letter_sent;
  }
  if (message.letter_sent && message.parcel && !message.parcel_sent) {
    message.parcel_sent = transport.send(world_rank(message.rank), id(message.rank, message.number, true), message.parcel.get(), message.letter.bytes,
                                         &message.parcel_event);
    moved |= message.parcel_sent;
  }
  return moved;
}

// block: where a parcel lies; kNoOffset: all is in the letter.
void RemoteMail::deliver(int rank, Incoming& incoming, uint64_t block) {
  node::MailEntry entry{};
  entry.bytes = incoming.letter.bytes;
  entry.offset = block;
  entry.tag = incoming.letter.tag;
  if (block == node::kNoOffset) std::memcpy(entry.payload, incoming.letter.data, incoming.letter.bytes);
  mail_.arrive(rank, entry);
  route_.traffic.count_received(incoming.letter.bytes);
  ++incoming.number;
  incoming.stage = Stage::kListening;
}

bool RemoteMail::advance(int rank, Incoming& incoming) {
  transport::Transport& transport = route_.wire.transport();
  switch (incoming.stage) {
    case Stage::kListening:
      incoming.event = {};
      if (!transport.receive(world_rank(rank), id(route_.rank, incoming.number, false), &incoming.letter, sizeof(Letter), &incoming.event)) return false;
      incoming.stage = Stage::kLetter;
      return true;
    case Stage::kLetter: {
      if (!incoming.event.done()) return false;
      if (incoming.event.result != transport::Result::kOk) {
        incoming.stage = Stage::kSilent;  // the sender has died, or this rank takes its memory back
        return true;
      }
      if (incoming.letter.bytes > node::kMailInlineBytes) {
        incoming.stage = Stage::kParcelAwaited;
        return true;
      }
      deliver(rank, incoming, node::kNoOffset);
      return true;
    }
    case Stage::kParcelAwaited:
      if (incoming.block == node::kNoOffset) {
        // What a receive waits for comes whatever others have sent that nobody receives.
        if (!mail_.awaits(rank, incoming.letter.tag) && mail_.is_full(rank, incoming.letter.bytes)) return false;
        incoming.block = mail_.receive_block(rank, incoming.letter.bytes);
        if (incoming.block == node::kNoOffset) return false;
      }
      incoming.event = {};
      if (!transport.receive(world_rank(rank), id(route_.rank, incoming.number, true), mail_.block_data(incoming.block), incoming.letter.bytes,
                             &incoming.event)) {
        return false;
      }
      incoming.stage = Stage::kParcel;
      return true;
    case Stage::kParcel: {
      if (!incoming.event.done()) return false;
      const uint64_t block = incoming.block;
      incoming.block = node::kNoOffset;
      if (incoming.event.result != transport::Result::kOk) {
        mail_.drop_block(block);
        incoming.stage = Stage::kSilent;
        return true;
      }
      deliver(rank, incoming, block);
      return true;
    }
    case Stage::kSilent: break;
  }
  return false;
}

bool RemoteMail::progress() {
  bool moved = false;
  std::vector<bool> blocked(sent_.size(), false);
  for (auto it = outgoing_.begin(); it != outgoing_.end();) {
    Outgoing& message = *it;
    const auto to = static_cast<size_t>(message.rank);
    if (!blocked[to]) moved |= advance(message);
    blocked[to] = blocked[to] || !message.letter_sent;
    const bool sent = message.letter_sent && message.letter_event.done() && (!message.parcel || (message.parcel_sent && message.parcel_event.done()));
    if (!sent) {
      ++it;
      continue;
    }
    if (message.parcel) outgoing_bytes_[to] -= message.letter.bytes;
    route_.traffic.count_sent(message.letter.bytes);
    it = outgoing_.erase(it);
    moved = true;
  }
  for (size_t i = 0; i < listening_.size(); ++i) {
    while (advance(listening_[i], incoming_[static_cast<size_t>(listening_[i])])) moved = true;
  }
  std::erase_if(listening_, [this](int r) { return incoming_[static_cast<size_t>(r)].stage == Stage::kSilent; });
  return moved;
}

bool RemoteMail::drain() {
  transport::Transport& transport = route_.wire.transport();
  bool pending = false;
  const auto take_back = [&](transport::Event& event) {
    if (event.done()) return;
    if (!taken_back_) transport.cancel(event, "the communicator was freed");
    pending |= !event.done();
  };
  for (Outgoing& message : outgoing_) {
    if (message.letter_sent) take_back(message.letter_event);
    if (message.parcel_sent) take_back(message.parcel_event);
  }
  for (Incoming& incoming : incoming_) {
    if (incoming.stage == Stage::kLetter || incoming.stage == Stage::kParcel) take_back(incoming.event);
  }
  taken_back_ = true;
  return !pending;
}

}  // namespace smddp::engine
