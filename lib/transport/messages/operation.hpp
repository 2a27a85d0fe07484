// One send or receive that did not end at once, and what has come in for which there is no send or receive yet.
#pragma once

#include "transport/messages/wire.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace smddp::transport {

enum class State : uint8_t {
  kFree,
  kGone,      // ended while it stood in its peer's queue, which frees it
  // sends
  kWaiting,   // queued: goes as a whole if there is credit, else is offered
  kOffered,   // waits for kReady
  kMoving,    // queued: has pieces to hand over
  kDraining,  // handed over; the network reads its memory
  kBroken,    // the network could not deliver it, and has no more use for its memory; news of why may come
  // receives
  kPosted,    // nobody was told
  kCalling,   // queued: has to send kReady
  kExposed,   // kReady is sent, pieces may come
  kRevoking,  // queued: has to send kRevoke
  kRevoked,   // waits for kRevoked
  kConcealing,  // waits for the network to give its memory back
};

// Why a message whose note is not the expected one ends.
inline constexpr const char* kOtherNote = "the two sides mean different messages";

struct Operation {
  int peer = 0;
  uint64_t id = 0;
  Operation* chain = nullptr;              // IdTable
  Operation *previous = nullptr, *next = nullptr;  // the peer's operations
  Operation* queue_next = nullptr;         // the peer's queue
  Event* event = nullptr;
  std::byte* data = nullptr;
  size_t bytes = 0;  // of a receive: its room
  State state = State::kFree;
  bool queued = false, matching = false;  // stands in the peer's queue; in the table of sends or receives
  bool send = false;
  bool offered = false;     // send: an offer was sent; receive: a piece said so
  bool other_size = false;  // receive: a piece said so
  bool size_known = false;  // send: kSize was sent; receive: it came
  bool offer_came = false;
  bool exposed = false;
  bool ending = false;  // has a deadline
  bool over = false;    // receive: no piece is on its way to its exposure
  uint16_t generation = 0;
  uint32_t number = 0;     // receive: of its kReady
  uint32_t immediate = 0;  // send: what the receiver wants to see with the pieces
  uint32_t puts = 0;       // send: that the network still reads
  size_t capacity = 0;     // send: room of the receive
  size_t offset = 0;       // send: handed over so far
  size_t pieces = 0;       // receive: that came
  size_t actual = 0;       // receive: size of the message, if another
  Exposure exposure;
  Result outcome = Result::kOk;
  std::string sentence;
  int64_t deadline = 0;
};

// A message, or the offer of one, that came before its receive.
struct Arrival {
  int peer;
  uint64_t id;
  Arrival* chain;
  bool offer;
  uint32_t note;  // of a message
  size_t bytes;
  std::byte* payload() { return reinterpret_cast<std::byte*>(this + 1); }
};

// A call for a message that came before its send.
struct EarlyReady {
  int peer;
  uint64_t id;
  EarlyReady* chain;
  uint64_t capacity, address, key;
  uint32_t immediate, number, note;
};

}  // namespace smddp::transport
