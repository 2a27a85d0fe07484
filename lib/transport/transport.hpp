// THE CONTRACT between the engine and a network: matched messages between ranks. Every transport keeps it, and tests/transport holds
// each of them to it. Invariant: an accepted event is completed exactly once, and from then on its memory is not touched.
//
// Peers.     Ranks are numbered 0 … size − 1 by the order of the addresses given to connect(). No rank sends to itself.
// Matching.  A receive takes the send of that peer with that id, whichever comes first; there are no wildcards. An id is opaque (the
//            engine packs communicator, sequence, step and segment into it). A pair of ranks uses an id again, in the same direction,
//            only after both its send and its receive have ended well; ids of messages that ended otherwise are spent.
// Order.     None. Neither messages nor the bytes of one message arrive in any order, on any transport.
// Sizes.     A receive gives the bytes that it has room for; a shorter message is fine, and Event::bytes tells. A longer one ends the
//            receive as kTruncated; its memory then holds nothing of use, and the send ends as kOk or kTruncated.
// Notes.     A send carries a number along, which its receive has to expect. Where they differ, no data is placed: the receive ends as
//            kMismatch, and the send as kOk or kMismatch. It costs nothing, and tells ranks that believe to do different things.
// Memory.    Data and event belong to the transport from an accepted call until the event is done; they are the caller's before and
//            after. Data that is sent may be read, but not written, meanwhile. A call that answered "again" has taken nothing.
// Flow.      A sender may run ahead of its receiver without bound: messages without receive take at most Capabilities::window_bytes of
//            the receiver for each peer, and beyond that stay where they are, in the memory of their sender.
// Threads.   One thread at a time calls anything here (the engine's lock); which one may change from call to call.
// Blocking.  Nothing blocks, except quiesce(), connect() and the destructor, for bounded times.
// Progress.  Messages move in progress() alone, also those of the peers (Capabilities::manual_progress): a rank that has peers calls it
//            again and again, or sleeps as arm() says. Events are completed by send(), receive(), cancel(), fail_peer() and progress().
// Failure.   No transport finds out by itself that a peer is dead: whoever knows calls fail_peer().
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace smddp::transport {

enum class Result : uint8_t { kPending, kOk, kTruncated, kMismatch, kPeerFailed, kCancelled };

// How one send or receive ended. Owned by the caller, at one address until it is done; then it may be given to another call.
struct Event {
  Result result = Result::kPending;
  uint32_t note = 0;        // set before the call: what a send carries, a receive expects
  size_t bytes = 0;         // that were moved, for kOk; that were sent, for kTruncated
  std::string sentence;     // unless kOk
  void* operation = nullptr;  // of the transport, while pending

  bool done() const { return result != Result::kPending; }
};

// How a thread may sleep until there is something to do.
struct Sleep {
  bool may_sleep = false;  // false: something has come in meanwhile, call progress() at once
  int fd = -1;             // becomes readable when progress() has work; −1: there is none, sleep nap_us and look
  int nap_us = 0;          // with a descriptor too: sleep no longer than this, 0 for as long as you like
};

struct Capabilities {
  std::string name;            // for people: "loopback", "tcp;ofi_rxm"
  std::string path;            // how large messages move: "write", "tagged", "packets"
  bool manual_progress = true;  // peers stall while this rank does not call progress()
  bool wait_descriptor = false;  // arm() gives one that can be trusted
  size_t eager_bytes = 0;      // up to here a message needs no receive to leave the sender
  size_t window_bytes = 0;     // of memory for messages that have no receive yet, for each peer
};

struct Counters {
  uint64_t sent = 0, received = 0;              // messages that ended well
  uint64_t sent_bytes = 0, received_bytes = 0;  // of them
  uint64_t eager = 0, rendezvous = 0;           // ways in which they were sent
  uint64_t puts = 0;                            // pieces placed straight into a peer's memory
  uint64_t packets = 0, retries = 0;            // packets sent; calls that the network took back for later
  uint64_t naps = 0, sleeps = 0;                // answers of arm() without and with a descriptor
  uint64_t unexpected = 0;                      // messages and offers that came before their receive
  uint64_t unexpected_bytes = 0, unexpected_bytes_peak = 0;  // memory that such messages take now, and took at most
  uint64_t registrations = 0, registration_hits = 0;
  uint64_t rail_bytes[4] = {};                  // sent over each network, where there are several
  uint64_t lost_rails = 0;                      // times that one was given up, for one peer
};

class Transport {
 public:
  virtual ~Transport() = default;  // events that are pending are abandoned; afterwards no memory is touched

  // What the peers' connect() needs, to be carried to them by other means. The same bytes at every call.
  virtual std::string address() const = 0;

  // Once, before anything else: the addresses of all ranks in their order, and which one this is. Throws (VERSION, TRANSPORT) and names
  // the rank whose address it cannot use.
  virtual void connect(const std::vector<std::string>& addresses, int rank) = 0;

  // False: again later, after progress(); nothing was taken. True: the event is or will be done. Data may be null when bytes is 0.
  virtual bool send(int peer, uint64_t id, const void* data, size_t bytes, Event* event) = 0;
  virtual bool receive(int peer, uint64_t id, void* data, size_t bytes, Event* event) = 0;

  // Moves everything that can move. True if anything did.
  virtual bool progress() = 0;

  // To be called after a progress() that moved nothing, before the thread sleeps.
  virtual Sleep arm() = 0;

  // Ends an event as kCancelled, within a second of calls to progress(); at once where the network does not hold its memory. A message
  // that is moving already may end as kOk instead. Events that are done stay as they are.
  virtual void cancel(Event& event, const std::string& sentence) = 0;

  // The peer is dead: its events end as kPeerFailed with the sentence, within a second of calls to progress(), and so do later ones, at once.
  // Where a network does not give memory back in time, the whole transport is closed: see failure().
  virtual void fail_peer(int peer, const std::string& sentence) = 0;

  // Forgets what has come in for ids that agree with this one in the bits of the mask and has no receive, as when a communicator is freed.
  virtual void discard(uint64_t id, uint64_t mask) = 0;

  // Empty, or why the transport was closed: all events have ended, and every later one ends at once as kPeerFailed.
  virtual const std::string& failure() const = 0;

  // Before the destructor, once no event is pending: serves the peers until all that this rank had to do with say the same, or the
  // deadline (now_ns()) passes. True if all did. Blocks until then.
  virtual bool quiesce(int64_t deadline) = 0;

  virtual const Capabilities& capabilities() const = 0;
  virtual const Counters& counters() const = 0;
};

}  // namespace smddp::transport
