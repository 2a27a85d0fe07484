// This machine's network interfaces, and which of its addresses others can reach. Invariant: an interface is judged by its flags and its
// name; what lies behind it is not asked.
#pragma once

#include "base/parameters.hpp"
#include "bootstrap/socket.hpp"

#include <string>
#include <vector>

namespace smddp::bootstrap {

// One address of an interface that is up; never link-local.
struct Interface {
  std::string name;
  unsigned flags = 0;   // of netdevice(7)
  bool bridge = false;  // of containers, by its name
  Address address;
  std::string network;  // "10.0.1.0/24"
};

// Those that the parameter allows: names or their beginnings, with commas; ^ before them excludes. A word that is a name stands for this
// one alone. Throws INVALID_ARGUMENT, with the names that there are, where something is asked for and nothing of it is there.
std::vector<Interface> interfaces(parameter::Id filter);

// Of those that SMDDP_BOOTSTRAP_INTERFACE allows, the address of the first that is no container bridge, IPv4 before IPv6; else of any
// other that is up; else 127.0.0.1. There is always an answer, if only a loopback address.
Address reachable_address();

}  // namespace smddp::bootstrap
