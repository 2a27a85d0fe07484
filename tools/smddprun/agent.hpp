// The agent: smddprun on another host, started by the remote command, launches the ranks that belong there and tells the launcher all
// about them through its standard streams. Invariant: when the launcher or the remote command is gone, so is everything on this host.
#pragma once

namespace smddprun {

constexpr const char* kAgentOption = "--agent";

// Returns the exit status.
int run_agent();

}  // namespace smddprun
