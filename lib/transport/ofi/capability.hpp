// What a provider can do, as plain values, and what follows from it. Invariant: nothing here asks for a provider's name, so that
// recorded tables decide as the provider itself would.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace smddp::transport::ofi {

struct Capability {
  std::string provider, fabric, domain;  // for people
  bool reaches_others = true;  // FI_REMOTE_COMM, or nothing said
  bool card = false;           // a network card of its own answers for it, not the kernel's sockets
  bool messages = true, tagged = false, rma = false;
  bool emulates_write = false;  // a write is built from messages
  bool closing_stops_writes = false;  // when a registration is closed, so is a write into it that has begun
  size_t max_message_bytes = 0, max_rma_bytes = 0, inject_bytes = 0;
  size_t immediate_bytes = 0;   // with a write or a tagged message
  bool registers_local = false, registers_remote = false;  // memory has to be registered before it is used here, by peers
  bool virtual_addresses = false;  // peers name memory by address, not by offset
  bool manual_progress = true;
  bool layered = false;  // over another provider, whose work it adds to: of two otherwise alike the worse
};

enum class Bulk : uint8_t {
  kPackets,  // pieces of one packet, copied at either end
  kTagged,   // one tagged message into a receive that only it matches
  kWrite,    // writes with an immediate into registered memory
};
const char* bulk_name(Bulk bulk);

// How a provider is used. Not usable: reason says why.
struct Plan {
  bool usable = false;
  std::string reason;
  Bulk bulk = Bulk::kPackets;
  size_t packet_bytes = 0, put_bytes = 0;
  int tier = 0;  // the higher the better
};

Plan plan_for(const Capability& capability);

// Whether the provider can move large messages this way, and the largest piece.
bool supports(const Capability& capability, Bulk bulk);
size_t put_bytes_of(const Capability& capability, Bulk bulk);

}  // namespace smddp::transport::ofi
