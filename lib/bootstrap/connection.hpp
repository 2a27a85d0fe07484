// One connection that rank 0 has accepted, on its way from a stranger to a rank. Invariant: it holds no more than one bounded frame of
// what it was sent.
#pragma once

#include "base/unique_fd.hpp"
#include "bootstrap/frame.hpp"

#include <cstdint>
#include <memory>
#include <string>

namespace smddp::bootstrap {

struct Connection {
  enum class State {
    kGreeting,  // has until expiry to say hello
    kAccepted,  // has its place and must confirm that it waits
    kMember,    // waits
    kLeaving,   // has until expiry to take its verdict
  };

  UniqueFd fd;
  State state = State::kGreeting;
  FrameReader reader{kMaxHelloBody};
  FrameWriter writer;
  int rank = -1;       // from kAccepted on
  int64_t expiry = 0;  // of this state; of an accepted rank: when it will need a verdict
  bool watched_for_output = false;
};

}  // namespace smddp::bootstrap
