// The sender's side: at once with credit, else by offer, and piece by piece once the receiver calls.
#include "transport/messages/message_transport.hpp"

#include "base/clock.hpp"
#include "base/error.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace smddp::transport {
namespace {

constexpr int64_t kNewsNs = 3000000000;  // for whoever watches the ranks to tell that one has died

}  // namespace

bool MessageTransport::has_credit(const Peer& peer, size_t bytes) const {
  return bytes <= eager_bytes_ && bytes <= peer.data_bytes && peer.used - peer.returned + units_of(bytes) <= peer.window;
}

bool MessageTransport::emit_eager(int index, uint64_t id, const void* data, size_t bytes, uint32_t note) {
  const EagerBody body{note};
  if (!emit(index, Kind::kEager, id, &body, sizeof(body), data, bytes)) return false;
  peers_[static_cast<size_t>(index)].used += units_of(bytes);
  ++counters_.eager;
  return true;
}

bool MessageTransport::send(int index, uint64_t id, const void* data, size_t bytes, Event* event) {
  if (refuse(index, event)) return true;
  Peer& peer = peers_[static_cast<size_t>(index)];
  EarlyReady* ready = readies_.find(index, id);
  if (!ready && has_credit(peer, bytes) && emit_eager(index, id, data, bytes, event->note)) {
    ++counters_.sent;
    counters_.sent_bytes += bytes;
    event->bytes = bytes;
    event->result = Result::kOk;
    return true;
  }
  if (ready && ready->note != event->note) {
    reply(index, Kind::kRefused, ready->immediate);
    readies_.remove(ready);
    delete ready;
    event->sentence = kOtherNote;
    event->result = Result::kMismatch;
    return true;
  }
  Operation* operation = allocate(index, id, const_cast<void*>(data), bytes, event, ready ? State::kMoving : State::kWaiting);
  if (!operation) return false;
  operation->send = true;
  if (ready) {
    operation->capacity = ready->capacity;
    operation->exposure = {ready->address, ready->key, nullptr};
    operation->immediate = ready->immediate;
    readies_.remove(ready);
    delete ready;
    ++counters_.rendezvous;
  } else {
    sends_.insert(operation);
    operation->matching = true;
  }
  if (!step(*operation)) enqueue(*operation);
  return true;
}

bool MessageTransport::step_waiting(Operation& operation) {
  Peer& peer = peers_[static_cast<size_t>(operation.peer)];
  if (has_credit(peer, operation.bytes)) {
    if (!emit_eager(operation.peer, operation.id, operation.data, operation.bytes, operation.event->note)) return false;
    complete(operation, Result::kOk, operation.bytes, {});
    return true;
  }
  const OfferBody body{operation.bytes};
  if (!emit(operation.peer, Kind::kOffer, operation.id, &body, sizeof(body))) return false;
  operation.offered = true;
  operation.state = State::kOffered;
  return true;
}

void MessageTransport::take_ready(int index, uint64_t id, const std::byte* data) {
  ReadyBody body;
  std::memcpy(&body, data, sizeof(body));
  if (!peers_[static_cast<size_t>(index)].readies->add(body.number)) return;  // revoked before it came
  Operation* operation = sends_.find(index, id);
  if (!operation) {
    readies_.insert(new EarlyReady{index, id, nullptr, body.capacity, body.address, body.key, body.immediate, body.number, body.note});
    return;
  }
  if (body.note != operation->event->note) {
    reply(index, Kind::kRefused, body.immediate);
    return complete(*operation, Result::kMismatch, 0, kOtherNote);
  }
  sends_.remove(operation);
  operation->matching = false;
  operation->capacity = body.capacity;
  operation->exposure = {body.address, body.key, nullptr};
  operation->immediate = body.immediate;
  operation->state = State::kMoving;
  ++counters_.rendezvous;
  enqueue(*operation);
}

// Answered only if the kReady was not used: otherwise the pieces, or the size, are the answer.
void MessageTransport::take_revoke(int index, uint64_t id, const std::byte* data) {
  RevokeBody body;
  std::memcpy(&body, data, sizeof(body));
  EarlyReady* ready = readies_.find(index, id);
  if (ready && ready->number == body.number) {
    readies_.remove(ready);
    delete ready;
  } else if (!peers_[static_cast<size_t>(index)].readies->add(body.number)) {
    return;
  }
  reply(index, Kind::kRevoked, body.immediate);
}

bool MessageTransport::step_moving(Operation& operation) {
  const Peer& peer = peers_[static_cast<size_t>(operation.peer)];
  const size_t bytes = operation.bytes;
  const bool other = bytes != operation.capacity;
  const uint32_t immediate = operation.immediate | (operation.offered ? kOffered : 0) | (other ? kOtherSize : 0);
  if (other && !operation.size_known) {
    const SizeBody body{bytes};
    if (!emit(operation.peer, Kind::kSize, immediate, &body, sizeof(body))) return false;
    operation.size_known = true;
  }
  if (bytes > operation.capacity) {
    complete(operation, Result::kTruncated, bytes, "the receive has less room than the message");
    return true;
  }
  const bool puts = bytes > peer.data_bytes && peer.put_bytes;
  const size_t most = puts ? peer.put_bytes : peer.data_bytes;
  do {
    const size_t piece = std::min(most, bytes - operation.offset);
    const std::byte* from = operation.data + operation.offset;
    if (puts) {
      if (!wire_->put(operation.peer, from, piece, operation.exposure.address, operation.exposure.key, operation.offset, immediate, &operation)) {
        ++counters_.retries;
        return false;
      }
      ++operation.puts;
      ++counters_.puts;
      moved_ = true;
    } else {
      const DataBody body{operation.offset};
      if (!emit(operation.peer, Kind::kData, immediate, &body, sizeof(body), from, piece)) return false;
    }
    operation.offset += piece;
  } while (operation.offset < bytes);
  operation.state = State::kDraining;
  if (!operation.puts) complete(operation, Result::kOk, bytes, {});
  return true;
}

void MessageTransport::put_done(void* context, const char* error) {
  Operation& operation = *static_cast<Operation*>(context);
  assert(operation.puts > 0);
  --operation.puts;
  moved_ = true;
  if (error && operation.outcome == Result::kOk) {
    operation.outcome = Result::kPeerFailed;
    operation.sentence = format("the connection to rank %d broke (%s)", operation.peer, error);
    operation.state = State::kBroken;
  }
  if (operation.puts) return;
  // Mostly it broke because the rank at its other end has died, and fail_peer() is about to say so.
  if (operation.state == State::kBroken) return end_by(operation, now_ns() + kNewsNs);
  if (operation.state != State::kDraining) return;
  complete(operation, operation.outcome, operation.outcome == Result::kOk ? operation.bytes : 0, operation.sentence);
}

}  // namespace smddp::transport
