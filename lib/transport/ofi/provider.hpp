// Which providers this machine has, and what each can do.
#pragma once

#include "transport/ofi/capability.hpp"
#include "transport/ofi/fabric.hpp"

#include <string>
#include <vector>

namespace smddp::transport::ofi {

struct Candidate {
  Info info;
  Capability capability;
  Plan plan;
};

Capability capability_of(const fi_info& info);

// One for each provider, fabric and domain, best tier first; unusable ones last, with their reason. provider: only this one ("tcp;ofi_rxm");
// empty: all. source_address: only what binds to this numeric address; empty: any.
std::vector<Candidate> candidates(const std::string& provider, const std::string& source_address);

}  // namespace smddp::transport::ofi
