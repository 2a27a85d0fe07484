// The transport over libfabric: which provider, and how it is made.
#pragma once

#include "transport/messages/message_transport.hpp"
#include "transport/ofi/capability.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace smddp::transport::ofi {

// One of several networks that messages are spread over.
struct RailOptions {
  std::string name;            // for people
  std::string network;         // the same on ranks that reach each other over it
  std::string source_address;  // numeric
};

struct Options {
  std::string provider;        // as libfabric names it; empty: SMDDP_OFI_PROVIDER, else the first of candidates()
  std::string source_address;  // numeric address of the interface that reaches the other ranks; empty: the provider's choice
  std::optional<Bulk> bulk;    // how large messages move; empty: as the provider's plan says
  size_t packet_bytes = 0;     // largest packet, hence eager message; 0: as the plan says
  MessageOptions messages;
  std::vector<RailOptions> rails;  // if any: these, instead of source_address and bulk; all of one provider
};

// Throws TRANSPORT and says which providers there are and why each was passed over; UNSUPPORTED if the provider does not know this bulk.
std::unique_ptr<Transport> make(const Options& options);

}  // namespace smddp::transport::ofi
