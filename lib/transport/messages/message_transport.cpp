#include "transport/messages/message_transport.hpp"

#include "base/error.hpp"

#include <sys/random.h>

#include <algorithm>
#include <cassert>
#include <cstdlib>
#include <cstring>

namespace smddp::transport {
namespace {

constexpr uint32_t kOperations = 4096;  // an index fits into the upper half of an immediate
constexpr uint32_t kGenerations = 1u << 14;
constexpr size_t kWindowBudget = size_t{128} << 20;  // for all peers together

uint32_t fresh_nonce() {
  uint32_t nonce = 0;
  if (getrandom(&nonce, sizeof(nonce), GRND_NONBLOCK) != sizeof(nonce)) nonce = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(&nonce));
  return nonce;
}

uint32_t window_for(int size) {
  const size_t units = kWindowBudget / kUnitBytes / static_cast<size_t>(std::max(size, 1));
  return static_cast<uint32_t>(std::clamp<size_t>(units, 128, 4096));
}

}  // namespace

MessageTransport::MessageTransport(std::unique_ptr<Wire> wire, const MessageOptions& options)
    : wire_(std::move(wire)), limits_(wire_->limits()), nonce_(fresh_nonce()),
      window_units_(options.window_units ? options.window_units : window_for(options.size)),
      eager_bytes_(std::min(options.eager_bytes, limits_.packet_bytes - sizeof(Header) - sizeof(EagerBody))), operations_(new Operation[kOperations]) {
  for (uint32_t i = kOperations; i-- > 0;) {
    operations_[i].next = free_;
    free_ = &operations_[i];
  }
  wire_->describe(capabilities_);
  capabilities_.eager_bytes = eager_bytes_;
  capabilities_.window_bytes = window_units_ * kUnitBytes;
}

MessageTransport::~MessageTransport() {
  wire_->close();
  arrivals_.take_if([](const Arrival&) { return true; }, [](Arrival* arrival) { std::free(arrival); });
  readies_.take_if([](const EarlyReady&) { return true; }, [](EarlyReady* ready) { delete ready; });
}

std::string MessageTransport::address() const {
  const Hello hello{kVersion, nonce_, limits_.packet_bytes, limits_.put_bytes, window_units_, 0};
  return std::string(reinterpret_cast<const char*>(&hello), sizeof(hello)) + wire_->address();
}

void MessageTransport::connect(const std::vector<std::string>& addresses, int rank) {
  if (addresses.size() > kMaxPeers) throw Error(SMDDP_ERR_UNSUPPORTED, format("%zu ranks are more than %u", addresses.size(), kMaxPeers));
  std::vector<std::string> plain;
  peers_ = std::vector<Peer>(addresses.size());
  for (size_t i = 0; i < addresses.size(); ++i) {
    Hello hello;
    if (addresses[i].size() < sizeof(hello)) {
      throw Error(SMDDP_ERR_TRANSPORT, format("the address of rank %zu has %zu bytes, too few", i, addresses[i].size()));
    }
    std::memcpy(&hello, addresses[i].data(), sizeof(hello));
    if (hello.version != kVersion) {
      throw Error(SMDDP_ERR_VERSION, format("rank %zu speaks version %u of the message protocol, rank %d version %u", i, hello.version, rank, kVersion));
    }
    Peer& peer = peers_[i];
    peer.nonce = hello.nonce;
    peer.window = hello.window_units;
    peer.data_bytes = std::min(limits_.packet_bytes, static_cast<size_t>(hello.packet_bytes)) - sizeof(Header) - sizeof(DataBody);
    peer.put_bytes = std::min(limits_.put_bytes, static_cast<size_t>(hello.put_bytes));
    peer.readies = std::make_unique<NumberFilter>();
    if (limits_.duplicates) peer.packets = std::make_unique<NumberFilter>();
    plain.push_back(addresses[i].substr(sizeof(hello)));
  }
  rank_ = rank;
  busy_.reserve(peers_.size());
  round_.reserve(peers_.size());
  wire_->connect(plain, rank);
}

Operation* MessageTransport::allocate(int peer, uint64_t id, void* data, size_t bytes, Event* event, State state) {
  Operation* operation = free_;
  if (!operation) return nullptr;
  free_ = operation->next;
  const auto generation = static_cast<uint16_t>((operation->generation + 1) % kGenerations);
  *operation = Operation{};
  operation->generation = generation;
  operation->peer = peer;
  operation->id = id;
  operation->data = static_cast<std::byte*>(data);
  operation->bytes = bytes;
  operation->event = event;
  operation->state = state;
  operation->immediate = static_cast<uint32_t>(operation - operations_.get()) << 16 | static_cast<uint32_t>(generation) << 2;
  Peer& owner = peers_[static_cast<size_t>(peer)];
  operation->next = owner.operations;
  if (owner.operations) owner.operations->previous = operation;
  owner.operations = operation;
  event->result = Result::kPending;
  event->operation = operation;
  return operation;
}

// The event is done and the operation out of every table; its memory is not in use by the network.
void MessageTransport::release(Operation& operation) {
  if (operation.queued) {
    operation.state = State::kGone;
    return;
  }
  operation.state = State::kFree;
  operation.next = free_;
  free_ = &operation;
}

void MessageTransport::complete(Operation& operation, Result result, size_t bytes, const std::string& sentence) {
  assert(operation.state != State::kFree && operation.state != State::kGone);
  if (operation.matching) (operation.send ? sends_ : receives_).remove(&operation);
  if (operation.ending) std::erase(endings_, &operation);
  operation.matching = operation.ending = false;
  Peer& peer = peers_[static_cast<size_t>(operation.peer)];
  (operation.previous ? operation.previous->next : peer.operations) = operation.next;
  if (operation.next) operation.next->previous = operation.previous;
  Event& event = *operation.event;
  event.operation = nullptr;
  event.bytes = bytes;
  if (!sentence.empty()) event.sentence = sentence;
  if (result == Result::kOk) {
    (operation.send ? counters_.sent : counters_.received) += 1;
    (operation.send ? counters_.sent_bytes : counters_.received_bytes) += bytes;
  }
  event.result = result;
  moved_ = true;
  release(operation);
}

void MessageTransport::enqueue(Operation& operation) {
  if (operation.queued) return;
  Peer& peer = peers_[static_cast<size_t>(operation.peer)];
  operation.queued = true;
  operation.queue_next = nullptr;
  *peer.queue_end = &operation;
  peer.queue_end = &operation.queue_next;
  make_busy(operation.peer);
}

void MessageTransport::make_busy(int index) {
  Peer& peer = peers_[static_cast<size_t>(index)];
  if (peer.busy) return;
  peer.busy = true;
  busy_.push_back(index);
}

void MessageTransport::reply(int index, Kind kind, uint64_t id) {
  peers_[static_cast<size_t>(index)].replies.push_back({kind, id});
  make_busy(index);
}

// True: nothing is left to be said to this peer.
bool MessageTransport::pump(int index) {
  Peer& peer = peers_[static_cast<size_t>(index)];
  while (!peer.replies.empty()) {
    if (peer.failed) peer.replies.clear();
    else if (emit(index, peer.replies.back().kind, peer.replies.back().id)) peer.replies.pop_back();
    else return false;
  }
  while (Operation* operation = peer.queue) {
    if (operation->state != State::kGone && !step(*operation)) return false;
    peer.queue = operation->queue_next;
    if (!peer.queue) peer.queue_end = &peer.queue;
    operation->queued = false;
    if (operation->state == State::kGone) release(*operation);
  }
  if (peer.credit_due && !peer.failed) {
    if (peer.consumed != peer.reported && !emit(index, Kind::kCredit, 0)) return false;
    peer.credit_due = false;
  }
  return true;
}

bool MessageTransport::step(Operation& operation) {
  switch (operation.state) {
    case State::kWaiting: return step_waiting(operation);
    case State::kMoving: return step_moving(operation);
    case State::kCalling: return step_calling(operation);
    case State::kRevoking: return step_revoking(operation);
    default: return true;  // overtaken by an event
  }
}

bool MessageTransport::emit(int index, Kind kind, uint64_t id, const void* body, size_t body_bytes, const void* payload,
                            size_t payload_bytes) {
  Peer& peer = peers_[static_cast<size_t>(index)];
  std::byte head[sizeof(Header) + sizeof(ReadyBody)];
  const Header header{peer.nonce, static_cast<uint32_t>(kind) << 24 | static_cast<uint32_t>(rank_), peer.sequence, peer.consumed, id};
  std::memcpy(head, &header, sizeof(header));
  if (body_bytes) std::memcpy(head + sizeof(header), body, body_bytes);
  if (!wire_->packet(index, head, sizeof(header) + body_bytes, payload, payload_bytes, kind == Kind::kBye)) {
    ++counters_.retries;
    return false;
  }
  ++peer.sequence;
  peer.reported = peer.consumed;
  peer.talked = true;
  ++counters_.packets;
  moved_ = true;
  return true;
}

void MessageTransport::packet(const std::byte* data, size_t bytes) {
  Header header;
  if (bytes < sizeof(header)) return;
  std::memcpy(&header, data, sizeof(header));
  const auto source = static_cast<int>(header.kind_and_source & (kMaxPeers - 1));
  if (header.nonce != nonce_ || static_cast<size_t>(source) >= peers_.size()) return;
  Peer& peer = peers_[static_cast<size_t>(source)];
  if (peer.failed || (peer.packets && !peer.packets->add(header.sequence))) return;
  moved_ = peer.talked = true;
  if (static_cast<int32_t>(header.consumed - peer.returned) > 0) peer.returned = header.consumed;
  const std::byte* body = data + sizeof(header);
  const size_t rest = bytes - sizeof(header);
  const auto number = [&](size_t at) {
    uint64_t value = 0;
    if (rest >= at + sizeof(value)) std::memcpy(&value, body + at, sizeof(value));
    return value;
  };
  const auto immediate = static_cast<uint32_t>(header.id);
  switch (static_cast<Kind>(header.kind_and_source >> 24)) {
    case Kind::kEager:
      if (rest >= sizeof(EagerBody)) take_eager(source, header.id, body, rest);
      break;
    case Kind::kOffer: take_offer(source, header.id, number(0)); break;
    case Kind::kReady:
      if (rest >= sizeof(ReadyBody)) take_ready(source, header.id, body);
      break;
    case Kind::kData:
      if (rest >= sizeof(DataBody)) take_data(source, immediate, number(0), body + sizeof(DataBody), rest - sizeof(DataBody));
      break;
    case Kind::kSize: take_size(source, immediate, number(0)); break;
    case Kind::kRefused: take_refused(source, immediate); break;
    case Kind::kRevoke:
      if (rest >= sizeof(RevokeBody)) take_revoke(source, header.id, body);
      break;
    case Kind::kRevoked: take_revoked(source, immediate); break;
    case Kind::kCredit: break;
    case Kind::kBye: peer.bye_came = true; break;
  }
}

// How many pieces a message has that was called for: both sides count alike.
size_t MessageTransport::pieces_of(const Peer& peer, size_t bytes) const {
  if (bytes <= peer.data_bytes) return 1;
  const size_t piece = peer.put_bytes ? peer.put_bytes : peer.data_bytes;
  return (bytes + piece - 1) / piece;
}

// Ends an event at once if its peer, or the transport, has failed.
bool MessageTransport::refuse(int index, Event* event) {
  assert(index >= 0 && static_cast<size_t>(index) < peers_.size() && index != rank_);
  const Peer& peer = peers_[static_cast<size_t>(index)];
  event->bytes = 0;
  event->operation = nullptr;
  if (!event->sentence.empty()) event->sentence.clear();
  if (!peer.failed && failure_.empty()) return false;
  event->sentence = peer.failed ? peer.sentence : failure_;
  event->result = Result::kPeerFailed;
  return true;
}

bool MessageTransport::progress() {
  if (!failure_.empty()) return false;
  moved_ = false;
  const bool wire_moved = wire_->progress(*this);
  if (!busy_.empty()) {
    round_.swap(busy_);
    for (const int index : round_) peers_[static_cast<size_t>(index)].busy = false;
    for (const int index : round_) {
      if (!pump(index)) make_busy(index);
    }
    round_.clear();
  }
  if (!endings_.empty()) watch_endings();
  return moved_ || wire_moved;
}

Sleep MessageTransport::arm() {
  Sleep sleep;
  if (failure_.empty()) {
    if (!busy_.empty() || !endings_.empty()) sleep = {true, -1, 50};  // what the network took back goes soon
    else if ((sleep = wire_->arm()).may_sleep) capabilities_.wait_descriptor = sleep.fd >= 0;
  } else {
    sleep = {true, -1, 1000};
  }
  if (sleep.may_sleep) ++(sleep.fd >= 0 ? counters_.sleeps : counters_.naps);
  return sleep;
}

const Counters& MessageTransport::counters() const {
  wire_->count(counters_);
  return counters_;
}

}  // namespace smddp::transport
