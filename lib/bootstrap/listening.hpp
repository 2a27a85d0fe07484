// Where rank 0 listens. Invariant: every port that another process holds is asked who it is before it is called "in use".
#pragma once

#include "bootstrap/bootstrap.hpp"
#include "bootstrap/frame.hpp"

#include <string>
#include <vector>

namespace smddp::bootstrap {

struct Listening {
  std::vector<UniqueFd> sockets;
  std::string where;  // "127.0.0.1 port 29500"
};

// The inherited listener, or the first free port of the placement. A numeric address and localhost are bound as they are; for a name,
// which may mean another address elsewhere, and for an address that is not this machine's, all addresses. Throws BOOTSTRAP within
// about 2 s when no port is free.
Listening listen_for_ranks(Placement& placement, const Hello& self, int64_t deadline);

}  // namespace smddp::bootstrap
