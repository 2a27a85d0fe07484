// How messages end that do not end well: cancelled, their peer dead, the transport closed; and how a transport takes its leave.
#include "transport/messages/message_transport.hpp"

#include "base/clock.hpp"
#include "base/error.hpp"

#include <algorithm>
#include <ctime>
#include <cstdlib>

namespace smddp::transport {
namespace {

constexpr int64_t kAnswerNs = 400000000;  // for a peer to say that it had not used a call
constexpr int64_t kReturnNs = 400000000;  // for the network to give memory back

}  // namespace

void MessageTransport::set_deadline(Operation& operation, Result outcome, const std::string& sentence) {
  operation.outcome = outcome;
  operation.sentence = sentence;
  end_by(operation, now_ns() + kAnswerNs);
}

void MessageTransport::end_by(Operation& operation, int64_t deadline) {
  operation.deadline = deadline;
  if (!operation.ending) endings_.push_back(&operation);
  operation.ending = true;
}

void MessageTransport::cancel(Event& event, const std::string& sentence) {
  if (event.done() || !event.operation) return;
  Operation& operation = *static_cast<Operation*>(event.operation);
  switch (operation.state) {
    case State::kMoving:
      if (!operation.puts) break;
      operation.state = State::kDraining;
      set_deadline(operation, Result::kCancelled, sentence);
      return;
    case State::kBroken:
      if (!operation.puts) break;
      operation.state = State::kDraining;
      [[fallthrough]];
    case State::kDraining:
      set_deadline(operation, operation.outcome, operation.sentence);
      return;
    case State::kExposed:
      receives_.remove(&operation);
      operation.matching = false;
      set_deadline(operation, Result::kCancelled, sentence);
      operation.state = State::kRevoking;
      operation.actual = 0;
      enqueue(operation);
      return;
    case State::kRevoking:
    case State::kRevoked:
      set_deadline(operation, operation.outcome, operation.sentence);
      return;
    case State::kConcealing: return;
    case State::kCalling:
      if (!operation.exposed) break;
      set_deadline(operation, Result::kCancelled, sentence);
      conceal(operation);
      return;
    default: break;
  }
  complete(operation, Result::kCancelled, 0, sentence);
}

// From here on nobody is asked: the network takes the memory away from the peer.
void MessageTransport::conceal(Operation& operation) {
  if (operation.matching) receives_.remove(&operation);
  operation.matching = false;
  operation.over = operation.over || operation.state == State::kCalling;
  operation.state = State::kConcealing;
  if (operation.outcome != Result::kOk && operation.outcome != Result::kTruncated) operation.actual = 0;
  operation.deadline = now_ns() + kReturnNs;
  if (wire_->conceal(operation.exposure, operation.over)) complete(operation, operation.outcome, operation.actual, operation.sentence);
}

void MessageTransport::fail_peer(int index, const std::string& sentence) {
  Peer& peer = peers_[static_cast<size_t>(index)];
  if (peer.failed) return;
  peer.failed = true;
  peer.sentence = sentence;
  if (!failure_.empty()) return;  // everything has ended already, and the wire is closed
  wire_->abandon(index);
  for (Operation *operation = peer.operations, *next; operation; operation = next) {
    next = operation->next;
    if (operation->send && operation->puts) {
      operation->state = State::kDraining;
      set_deadline(*operation, Result::kPeerFailed, sentence);
    } else if (!operation->send && operation->exposed) {
      if (operation->state == State::kConcealing) continue;
      set_deadline(*operation, Result::kPeerFailed, sentence);
      conceal(*operation);
    } else {
      complete(*operation, Result::kPeerFailed, 0, sentence);
    }
  }
  arrivals_.take_if([index](const Arrival& arrival) { return arrival.peer == index; }, [this](Arrival* arrival) {
    counters_.unexpected_bytes -= sizeof(Arrival) + (arrival->offer ? 0 : arrival->bytes);
    std::free(arrival);
  });
  readies_.take_if([index](const EarlyReady& ready) { return ready.peer == index; }, [](EarlyReady* ready) { delete ready; });
}

void MessageTransport::discard(uint64_t id, uint64_t mask) {
  arrivals_.take_if([=](const Arrival& arrival) { return ((arrival.id ^ id) & mask) == 0; }, [this](Arrival* arrival) {
    counters_.unexpected_bytes -= sizeof(Arrival) + (arrival->offer ? 0 : arrival->bytes);
    if (!arrival->offer) consume(arrival->peer, arrival->bytes);
    std::free(arrival);
  });
  readies_.take_if([=](const EarlyReady& ready) { return ((ready.id ^ id) & mask) == 0; }, [](EarlyReady* ready) { delete ready; });
}

bool MessageTransport::watch_endings() {
  const int64_t now = now_ns();
  for (size_t i = endings_.size(); i-- > 0;) {
    if (i >= endings_.size()) continue;  // several ended at once
    Operation& operation = *endings_[i];
    if (operation.state == State::kConcealing) {
      if (wire_->conceal(operation.exposure, operation.over)) {
        complete(operation, operation.outcome, operation.actual, operation.sentence);
        continue;
      }
    } else if (operation.state == State::kBroken) {
      if (now >= operation.deadline) complete(operation, operation.outcome, 0, std::string(operation.sentence));
      continue;
    } else if (now >= operation.deadline && (operation.state == State::kRevoking || operation.state == State::kRevoked)) {
      if (operation.exposed) conceal(operation);
      else complete(operation, operation.outcome, operation.actual, operation.sentence);
      continue;
    }
    if (now < operation.deadline) continue;
    close(format("%s does not give back the memory of a message with rank %d (%s): closed", capabilities_.name.c_str(), operation.peer,
                 operation.sentence.c_str()));
    return true;
  }
  return moved_;
}

void MessageTransport::close(const std::string& reason) {
  failure_ = reason;
  wire_->close();
  for (Peer& peer : peers_) {
    while (peer.operations) {
      Operation& operation = *peer.operations;
      const bool told = operation.outcome != Result::kOk;
      complete(operation, told ? operation.outcome : Result::kPeerFailed, 0, told ? std::string(operation.sentence) : reason);
    }
  }
}

bool MessageTransport::quiesce(int64_t deadline) {
  const auto all_said = [this] {
    bool all = true;
    for (size_t i = 0; i < peers_.size(); ++i) {
      Peer& peer = peers_[i];
      if (!peer.talked || peer.failed) continue;
      if (!peer.bye_sent) {
        peer.bye_sent = true;
        reply(static_cast<int>(i), Kind::kBye, 0);
      }
      all = all && peer.bye_came;
    }
    return all && busy_.empty() && wire_->idle();
  };
  bool said = false;
  while (failure_.empty() && !(said = all_said()) && now_ns() < deadline) {
    if (progress()) continue;
    const timespec nap{0, 50000};
    nanosleep(&nap, nullptr);
  }
  const int64_t linger = std::min(deadline, now_ns() + int64_t{limits_.linger_ms} * 1000000);
  while (failure_.empty() && now_ns() < linger) {
    if (progress()) continue;
    const timespec nap{0, 200000};
    nanosleep(&nap, nullptr);
  }
  return said;
}

}  // namespace smddp::transport
