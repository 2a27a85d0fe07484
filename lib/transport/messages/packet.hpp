// The packets of MessageTransport, as they travel between ranks of equal byte order. Version: kVersion, compared by connect().
#pragma once

#include <cstddef>
#include <cstdint>

namespace smddp::transport {

constexpr uint32_t kVersion = 2;

enum class Kind : uint8_t {
  kEager,    // a whole message
  kOffer,    // a message waits at its sender: it is large, or there was no credit
  kReady,    // its receive is there: send
  kData,     // a piece of a message that was called for
  kSize,     // the message that was called for has another size than its receive
  kRefused,  // the message that was called for has another note than its receive
  kRevoke,   // a kReady is taken back
  kRevoked,  // and had not been used
  kCredit,   // nothing but the head
  kBye,      // this rank has no more to ask
};

struct Header {
  uint32_t nonce;            // of the transport that receives: strangers and earlier lives are ignored
  uint32_t kind_and_source;  // Kind << 24 | rank of the sender
  uint32_t sequence;         // of this packet among those to this peer
  uint32_t consumed;         // units of this peer's eager messages that the sender of this packet has consumed so far
  uint64_t id;               // of the message; for kData, kSize, kRefused and kRevoked the immediate of its receive
};

struct EagerBody {
  uint32_t note;
};
static_assert(sizeof(Header) + sizeof(EagerBody) == 28, "4 bytes of data fit into the smallest inline send as well");

constexpr uint32_t kMaxPeers = 1u << 24;

struct OfferBody {
  uint64_t bytes;
};
struct ReadyBody {
  uint64_t capacity, address, key;
  uint32_t immediate, number;
  uint32_t note, reserved;
};
struct DataBody {
  uint64_t offset;
};
struct SizeBody {
  uint64_t bytes;
};
struct RevokeBody {
  uint32_t immediate, number;
};

// What a piece tells the receiver beside where it belongs: operation 16 | generation 14 | offered | other size (high to low).
constexpr uint32_t kOffered = 2;    // an offer is on its way as well: it has to arrive before the receive ends
constexpr uint32_t kOtherSize = 1;  // a kSize is on its way
constexpr uint32_t kFlags = kOffered | kOtherSize;

// Flow control counts units: one for a message and one for each 256 bytes of it.
constexpr size_t kUnitBytes = 256;
constexpr uint32_t units_of(size_t bytes) { return static_cast<uint32_t>(1 + (bytes + kUnitBytes - 1) / kUnitBytes); }

// In front of the wire's own address.
struct Hello {
  uint32_t version, nonce;
  uint64_t packet_bytes, put_bytes;
  uint32_t window_units, reserved;
};

}  // namespace smddp::transport
