// Starting the process that keeps the ranks. Invariant: all signals that a launcher handles are blocked before it exists.
#pragma once

#include "fd.hpp"
#include "spawn.hpp"

#include <functional>
#include <vector>

namespace smddprun {

struct Started {
  pid_t keeper = -1;
  Fd channel;               // to the keeper
  std::vector<Fd> sources;  // each process's standard output and error in turn, which do not block
};

// So that descriptors for so many ranks can be open. Returns the limit as it was, for the ranks.
rlimit raise_descriptor_limit(int processes);

// Forks; the child closes what it must not hold and runs, which does not return. The plan gets streams and signal mask, and in this
// process loses all descriptors. Throws Failure.
Started start_keeper(LaunchPlan& plan, const std::function<void()>& close_own, const std::function<void(Fd channel)>& run);

}  // namespace smddprun
