// One remote command and the agent behind it. Invariant: its end is reported once, and only after all that the agent said.
#pragma once

#include "fd.hpp"
#include "frame.hpp"
#include "hosts.hpp"
#include "spawn.hpp"

#include <string>
#include <vector>

namespace smddprun {

struct Link {
  HostShare host;
  pid_t process = -1;
  int status = 0;        // wait status, once gone
  bool gone = false;
  bool planned = false;  // the agent has its plan
  bool ended = false;    // the agent has said that nothing of the job is left there
  Fd to, from;
  OutQueue out;
  FrameReader in{kAgentMarker};

  void tell(FrameKind kind, std::string_view body) {
    if (to) out.add(kind, body);
  }
  void flush() {
    if (to && !out.flush(to.get())) to.reset();
  }
};

// Runs the words of command, the host and this program as an agent there. Throws Failure.
Link start_link(const HostShare& host, const std::vector<std::string>& command, const LaunchPlan& plan);

}  // namespace smddprun
