// From the text of an address to socket addresses. Invariant: it returns by the deadline even where the name service does not answer.
#pragma once

#include "bootstrap/socket.hpp"

#include <string>
#include <vector>

namespace smddp::bootstrap {

struct Resolution {
  std::vector<Address> addresses;  // port 0; empty if it failed
  bool numeric = false;            // the text was an address, not a name
  bool temporary = false;          // of a failure: asking again may help
  std::string error;
};

// name: host name, IPv4 address, or IPv6 address with or without brackets and %scope.
Resolution resolve(const std::string& name, int64_t deadline);

}  // namespace smddp::bootstrap
