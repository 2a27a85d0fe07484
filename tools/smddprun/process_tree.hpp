// The processes below this one. Invariant: as long as this process is a child subreaper, no descendant can leave the tree, whatever
// group or session it makes for itself.
#pragma once

#include <sys/types.h>

namespace smddprun {

// Orphans in this process's tree become its children from now on.
void become_subreaper();

// Whether a child that is not reaped yet has ended or is on its way.
bool is_dying(pid_t pid);

// Sends signal to every descendant that /proc shows now.
void signal_descendants(int signal);

// Kills all descendants and reaps them; gives up after some seconds if one cannot die. Returns whether none is left.
bool kill_descendants();

}  // namespace smddprun
