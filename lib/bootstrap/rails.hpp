// Which of this machine's interfaces messages between nodes are spread over.
#pragma once

#include "bootstrap/bootstrap.hpp"

#include <string>
#include <vector>

namespace smddp::bootstrap {

struct RailPlace {
  std::string name, network, address;  // "eth1", "10.0.1.0/24", "10.0.1.7"
};

// This rank's: the one of its reachable address first, then others, each of a network of its own, SMDDP_OFI_RAILS at most. With
// SMDDP_OFI_INTERFACES those that it names, otherwise those that resemble the first one: same family, kind and speed, connected, no
// container bridge, no loopback.
std::vector<RailPlace> own_rails(const std::string& reachable_address);

// Of them, the first one and those whose network a rank of another node has as well; empty if that leaves no rank of the job more than
// one. Collective, as gather_texts.
std::vector<RailPlace> shared_rails(const Meeting& meeting, int rank, const std::vector<RailPlace>& own, int64_t deadline);

// The same from what was gathered: by rank, its node and its networks.
struct RankNetworks {
  std::string node;
  std::vector<std::string> networks;
};
std::vector<RailPlace> shared_rails(const std::vector<RankNetworks>& ranks, const std::vector<RailPlace>& own);

}  // namespace smddp::bootstrap
