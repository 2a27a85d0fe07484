// What MessageTransport needs of a network: packets in any order, and perhaps a way to place bytes straight into a peer's memory.
// Invariant: a wire knows nothing of messages, ids or credits; it moves bytes and says when.
//
// A wire is used by one thread at a time. No call blocks except connect() and close().
#pragma once

#include "transport/transport.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace smddp::transport {

struct WireLimits {
  size_t packet_bytes = 0;  // largest packet, header included
  size_t put_bytes = 0;     // largest put; 0: there is none, large messages go as packets
  bool duplicates = false;  // a packet may arrive twice
  int linger_ms = 0;        // how long the last acknowledgements of peers have to be served
};

// Where a peer may put bytes. The first two travel to the peer, the rest is the wire's.
struct Exposure {
  uint64_t address = 0, key = 0;
  void* handle = nullptr;
};

// Receives what a wire has to tell, within Wire::progress().
class WireSink {
 public:
  virtual void packet(const std::byte* data, size_t bytes) = 0;  // valid during the call
  virtual void landed(uint32_t immediate) = 0;                   // one put with this immediate is complete in this rank's memory
  // The network has no more use for the memory of this put; error is null, or why it failed.
  virtual void put_done(void* context, const char* error) = 0;

 protected:
  ~WireSink() = default;
};

class Wire {
 public:
  virtual ~Wire() = default;
  virtual const WireLimits& limits() const = 0;
  virtual std::string address() const = 0;
  // Throws. An empty address: there is no way to that rank, and nobody asks for one.
  virtual void connect(const std::vector<std::string>& addresses, int rank) = 0;

  // Copies header and payload, and sends them as one packet. False: again later. tracked: idle() is false until it has left.
  virtual bool packet(int peer, const void* header, size_t header_bytes, const void* payload, size_t payload_bytes, bool tracked) = 0;

  // Lets peers put into this memory. False: again later.
  virtual bool expose(void* data, size_t bytes, Exposure& exposure) = 0;
  // Ends an exposure. over: no put is on its way, all have landed or none will come; otherwise the peer is cut off. True: from now on
  // nothing is written there; false: ask again.
  virtual bool conceal(Exposure& exposure, bool over) = 0;
  // Places bytes at an offset of a peer's exposure, then delivers the immediate there. put_done(context) follows. False: again later.
  virtual bool put(int peer, const void* data, size_t bytes, uint64_t address, uint64_t key, size_t offset, uint32_t immediate,
                   void* context) = 0;

  // The peer is dead: gives back the memory of puts to it as soon as it can, each with put_done().
  virtual void abandon(int peer) = 0;

  virtual bool progress(WireSink& sink) = 0;
  virtual Sleep arm() = 0;
  virtual bool idle() const = 0;  // no put and no tracked packet is left to be sent
  virtual void close() = 0;       // at once; afterwards no memory is touched, and only the destructor may be called

  // The wire fills in its name, its path, its kind of progress and the counters of its own.
  virtual void describe(Capabilities& capabilities) const = 0;
  virtual void count(Counters& counters) const = 0;
};

}  // namespace smddp::transport
