// Whether a thread may sleep on a completion queue's descriptor. Invariant: a descriptor is given out only while it tells the truth.
//
// Some providers say that one may wait, and yet their descriptor is readable without any completion: 8 times running without one in
// between, and it is not asked again. Then, and where there is none, a thread naps, 50 µs at first, twice as long each time, 1 ms at most
// in the first second of its wait and 4 ms later: with 1 ms an idle rank takes 1.3 % of a core, with 4 ms a quarter of that.
#pragma once

#include "transport/ofi/endpoint.hpp"
#include "transport/transport.hpp"

namespace smddp::transport::ofi {

class Waiting {
 public:
  explicit Waiting(Endpoint& endpoint) : endpoint_(endpoint) {}

  // Asks the descriptor while nothing is going on.
  void prove();
  Sleep arm();
  void completion_came() { lies_ = naps_ = 0; }
  bool trusted() const { return endpoint_.fd >= 0 && !liar_; }

 private:
  Endpoint& endpoint_;
  int lies_ = 0, naps_ = 0;
  bool liar_ = false;
};

}  // namespace smddp::transport::ofi
