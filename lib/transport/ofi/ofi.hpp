// The transport over libfabric: which provider, and how it is made.
#pragma once

#include "transport/messages/message_transport.hpp"
#include "transport/ofi/capability.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace smddp::transport::ofi {

struct Options {
  std::string provider;        // as libfabric names it; empty: SMDDP_OFI_PROVIDER, else the first of candidates()
  std::string source_address;  // numeric address of the interface that reaches the other ranks; empty: the provider's choice
  std::optional<Bulk> bulk;    // how large messages move; empty: as the provider's plan says
  size_t packet_bytes = 0;     // largest packet, hence eager message; 0: as the plan says
  MessageOptions messages;
};

// Throws TRANSPORT and says which providers there are and why each was passed over; UNSUPPORTED if the provider does not know this bulk.
std::unique_ptr<Transport> make(const Options& options);

}  // namespace smddp::transport::ofi
