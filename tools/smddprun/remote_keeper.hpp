// The keeper of ranks on other hosts: one remote command a host, behind which an agent launches the ranks. To the launcher it is a keeper
// like any other. Invariant: it ends only when every remote command has, and none outlives the launcher.
#pragma once

#include "hosts.hpp"
#include "keeper.hpp"

#include <string>
#include <vector>

namespace smddprun {

// As run_keeper. command: the words before the name of the host.
[[noreturn]] void run_remote_keeper(LaunchPlan& plan, const std::vector<HostShare>& hosts, const std::vector<std::string>& command, Fd channel);

}  // namespace smddprun
