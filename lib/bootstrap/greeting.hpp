// One try to greet whatever listens at one address. Invariant: it takes no longer than it was given, whoever listens there.
#pragma once

#include "bootstrap/frame.hpp"
#include "bootstrap/socket.hpp"

#include <string>

namespace smddp::bootstrap {

enum class Greeted {
  kNobody,    // no connection; detail says why
  kSilent,    // a connection, but no answer in time
  kLost,      // the connection ended before an answer: a full backlog, a dying process or a stranger
  kStranger,  // an answer of another program
  kVersion,   // rank 0 of an incompatible version of the library
  kRefused,   // verdict says why
  kAccepted,  // fd and accepted are valid
};

struct Greeting {
  Greeted outcome = Greeted::kNobody;
  int error = 0;  // errno, of kNobody
  std::string detail;
  UniqueFd fd;
  Accepted accepted;
  Verdict verdict;
};

Greeting greet(const Address& address, const std::string& hello_frame, int64_t deadline);

}  // namespace smddp::bootstrap
