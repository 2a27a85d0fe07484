// The keeper: a process between the launcher and the ranks that is their parent, reaps them and every orphan they leave, and kills the
// whole tree when the launcher dies. Invariant: it ends only when nothing of the job is left.
#pragma once

#include "fd.hpp"
#include "spawn.hpp"

#include <cstdint>

namespace smddprun {

// From launcher to keeper, one packet each.
struct Command {
  enum Target : int32_t { kRanks, kGroups, kTree };  // running ranks; their process groups; every process of the job, servers too
  int32_t signal;
  int32_t target;
};

// From keeper to launcher, one packet each. Exits come in the order in which the processes died; before the first that is a failure
// come those that were dying too, dead or on their way to it.
struct Event {
  enum Kind : int32_t { kForkFailed, kExecFailed, kDying, kExited, kEnded, kLost };
  int32_t kind;
  int32_t process;  // rank or server, in the order of HostShare; of kLost: the first one of a host whose remote command ended before it
  int32_t value;    // errno, errno, 0, wait status, 0, wait status
};

// Starts ranks and servers and stays until they and all their descendants are gone. Runs in a child of the launcher, all signals blocked.
[[noreturn]] void run_keeper(LaunchPlan& plan, Fd channel);

}  // namespace smddprun
