// Which of this machine's addresses others can reach. Invariant: there is always an answer, if only a loopback address.
#pragma once

#include "bootstrap/socket.hpp"

namespace smddp::bootstrap {

// Of those that SMDDP_BOOTSTRAP_INTERFACE allows (throws INVALID_ARGUMENT if there is none), the address of the first that is up and no
// container bridge, IPv4 before IPv6, never link-local; else of any other that is up; else 127.0.0.1 or ::1.
Address reachable_address();

}  // namespace smddp::bootstrap
