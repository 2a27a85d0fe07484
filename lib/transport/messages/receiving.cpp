// The receiver's side: matching, calling for messages, and counting what has come.
#include "transport/messages/message_transport.hpp"

#include "base/error.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

namespace smddp::transport {
namespace {

std::string too_long(size_t bytes, size_t room) { return format("the message has %zu bytes, its receive has room for %zu", bytes, room); }

Result outcome_of(bool same_note, size_t bytes, size_t room) {
  return !same_note ? Result::kMismatch : bytes > room ? Result::kTruncated : Result::kOk;
}

std::string why(Result outcome, size_t bytes, size_t room) { return outcome == Result::kMismatch ? kOtherNote : too_long(bytes, room); }

}  // namespace

bool MessageTransport::receive(int index, uint64_t id, void* data, size_t bytes, Event* event) {
  if (refuse(index, event)) return true;
  Arrival* arrival = arrivals_.find(index, id);
  if (arrival && !arrival->offer) {
    const size_t came = arrival->bytes;
    const Result result = outcome_of(arrival->note == event->note, came, bytes);
    event->bytes = came;
    if (result == Result::kOk) {
      if (came) std::memcpy(data, arrival->payload(), came);
      ++counters_.received;
      counters_.received_bytes += came;
    } else {
      event->sentence = why(result, came, bytes);
    }
    drop(arrival);
    event->result = result;
    return true;
  }
  const bool calls = arrival || bytes > eager_bytes_;
  Operation* operation = allocate(index, id, data, bytes, event, calls ? State::kCalling : State::kPosted);
  if (!operation) return false;
  operation->offer_came = arrival != nullptr;
  if (arrival) drop(arrival);
  receives_.insert(operation);
  operation->matching = true;
  if (calls && !step(*operation)) enqueue(*operation);
  return true;
}

bool MessageTransport::step_calling(Operation& operation) {
  Peer& peer = peers_[static_cast<size_t>(operation.peer)];
  if (!operation.exposed && peer.put_bytes && operation.bytes > peer.data_bytes) {
    if (!wire_->expose(operation.data, operation.bytes, operation.exposure)) return false;
    operation.exposed = true;
  }
  const ReadyBody body{operation.bytes, operation.exposure.address, operation.exposure.key, operation.immediate, peer.ready_number,
                       operation.event->note,    0};
  if (!emit(operation.peer, Kind::kReady, operation.id, &body, sizeof(body))) return false;
  operation.number = peer.ready_number++;
  operation.state = State::kExposed;
  return true;
}

bool MessageTransport::step_revoking(Operation& operation) {
  const RevokeBody body{operation.immediate, operation.number};
  if (!emit(operation.peer, Kind::kRevoke, operation.id, &body, sizeof(body))) return false;
  operation.state = State::kRevoked;
  return true;
}

void MessageTransport::take_eager(int index, uint64_t id, const std::byte* body, size_t body_bytes) {
  EagerBody head;
  std::memcpy(&head, body, sizeof(head));
  const std::byte* payload = body + sizeof(head);
  const size_t bytes = body_bytes - sizeof(head);
  Operation* operation = receives_.find(index, id);
  if (!operation) return store({index, id, nullptr, false, head.note, bytes}, payload);
  receives_.remove(operation);
  operation->matching = false;
  operation->outcome = outcome_of(head.note == operation->event->note, bytes, operation->bytes);
  operation->actual = bytes;
  if (operation->outcome != Result::kOk) operation->sentence = why(operation->outcome, bytes, operation->bytes);
  else if (bytes) std::memcpy(operation->data, payload, bytes);
  consume(index, bytes);
  if (operation->state != State::kExposed) {
    end_receive(*operation, operation->outcome, bytes);
  } else {  // its room had called for more than this: take the call back before the memory is free
    operation->state = State::kRevoking;
    enqueue(*operation);
  }
}

void MessageTransport::take_offer(int index, uint64_t id, uint64_t bytes) {
  Operation* operation = receives_.find(index, id);
  if (!operation) return store({index, id, nullptr, true, 0, bytes}, nullptr);
  operation->offer_came = true;
  if (operation->state == State::kPosted) {
    operation->state = State::kCalling;
    enqueue(*operation);
  } else {
    end_if_whole(*operation);
  }
}

// The receive that an immediate belongs to, if it still waits for pieces.
Operation* MessageTransport::receive_of(int index, uint32_t immediate) {
  if (immediate >> 16 >= 4096) return nullptr;
  Operation& operation = operations_[immediate >> 16];
  const bool waits = operation.state == State::kExposed || operation.state == State::kRevoking || operation.state == State::kRevoked;
  if (!waits || operation.send || operation.immediate != (immediate & ~kFlags) || (index >= 0 && operation.peer != index)) return nullptr;
  return &operation;
}

void MessageTransport::piece(Operation& operation, uint32_t immediate) {
  ++operation.pieces;
  operation.offered |= (immediate & kOffered) != 0;
  operation.other_size |= (immediate & kOtherSize) != 0;
  moved_ = true;
  end_if_whole(operation);
}

void MessageTransport::landed(uint32_t immediate) {
  if (Operation* operation = receive_of(-1, immediate)) piece(*operation, immediate);
}

void MessageTransport::take_data(int index, uint32_t immediate, uint64_t offset, const std::byte* payload, size_t bytes) {
  Operation* operation = receive_of(index, immediate);
  if (!operation || offset > operation->bytes || bytes > operation->bytes - offset) return;
  if (bytes) std::memcpy(operation->data + offset, payload, bytes);
  piece(*operation, immediate);
}

void MessageTransport::take_size(int index, uint32_t immediate, uint64_t bytes) {
  Operation* operation = receive_of(index, immediate);
  if (!operation) return;
  operation->size_known = operation->other_size = true;
  operation->offered |= (immediate & kOffered) != 0;
  operation->actual = bytes;
  end_if_whole(*operation);
}

// Its sender believes to send something else, and keeps it.
void MessageTransport::take_refused(int index, uint32_t immediate) {
  Operation* operation = receive_of(index, immediate);
  if (!operation) return;
  operation->sentence = kOtherNote;
  end_receive(*operation, Result::kMismatch, 0);
}

void MessageTransport::end_if_whole(Operation& operation) {
  if (operation.state == State::kCalling || operation.state == State::kConcealing) return;
  if (operation.other_size && !operation.size_known) return;
  const size_t bytes = operation.size_known ? operation.actual : operation.bytes;
  const bool fits = bytes <= operation.bytes;
  if (fits && operation.pieces < pieces_of(peers_[static_cast<size_t>(operation.peer)], bytes)) return;
  if (operation.offered && operation.matching && !operation.offer_came) return;
  if (!fits) operation.sentence = too_long(bytes, operation.bytes);
  else operation.sentence.clear();
  end_receive(operation, fits ? Result::kOk : Result::kTruncated, bytes);
}

void MessageTransport::take_revoked(int index, uint32_t immediate) {
  Operation* operation = receive_of(index, immediate);
  if (operation && operation->state == State::kRevoked) end_receive(*operation, operation->outcome, operation->actual);
}

// What there is to say is known; the event is done when the network has given the memory back.
void MessageTransport::end_receive(Operation& operation, Result result, size_t bytes) {
  operation.over = true;
  if (operation.exposed && !wire_->conceal(operation.exposure, true)) {
    operation.actual = bytes;
    if (operation.matching) receives_.remove(&operation);
    operation.matching = false;
    set_deadline(operation, result, operation.sentence);
    operation.state = State::kConcealing;
    return;
  }
  complete(operation, result, bytes, operation.sentence);
}

// The memory of an eager message has been read: its sender may send as much again.
void MessageTransport::consume(int index, size_t bytes) {
  Peer& peer = peers_[static_cast<size_t>(index)];
  peer.consumed += units_of(bytes);
  if (peer.consumed - peer.reported < window_units_ / 4) return;
  peer.credit_due = true;
  make_busy(index);
}

void MessageTransport::store(Arrival head, const std::byte* payload) {
  const size_t stored = head.offer ? 0 : head.bytes;
  void* memory = std::malloc(sizeof(Arrival) + stored);
  if (!memory) return;  // within the credit that was granted: the process is out of memory anyway
  auto* arrival = new (memory) Arrival(head);
  if (stored) std::memcpy(arrival->payload(), payload, stored);
  arrivals_.insert(arrival);
  ++counters_.unexpected;
  counters_.unexpected_bytes += sizeof(Arrival) + stored;
  counters_.unexpected_bytes_peak = std::max(counters_.unexpected_bytes_peak, counters_.unexpected_bytes);
}

void MessageTransport::drop(Arrival* arrival) {
  arrivals_.remove(arrival);
  counters_.unexpected_bytes -= sizeof(Arrival) + (arrival->offer ? 0 : arrival->bytes);
  if (!arrival->offer) consume(arrival->peer, arrival->bytes);
  std::free(arrival);
}

}  // namespace smddp::transport
