// Starting one rank. Invariant: between fork and exec nothing of the launcher is left in the rank but its three standard streams, its
// environment and, in rank 0, the bootstrap listener.
#pragma once

#include "environment.hpp"
#include "fd.hpp"

#include <sys/resource.h>

#include <csignal>
#include <vector>

namespace smddprun {

struct RankStreams {
  Fd out;  // what the rank writes to
  Fd err;
};

// What all ranks of a job are started with.
struct LaunchPlan {
  int size = 0;                  // of the job
  int first_rank = 0;            // here
  int ranks = 0;                 // here
  char** program = nullptr;
  Environment environment;
  MeetingPoint point;
  Fd listener;
  Fd rank0_stdin;                // invalid: rank 0 has the launcher's own
  std::vector<RankStreams> streams;  // of the ranks here
  sigset_t signal_mask;          // as the launcher found it
  rlimit descriptor_limit;
};

// What a rank that could not be executed tells through exec_errors.
struct ExecError {
  int rank;
  int error;
};

// Forks and executes. The child is the leader of a process group and is killed when this process dies. Returns -1 with errno if
// fork fails; if exec fails the child writes an ExecError and ends with status 126 or 127.
pid_t spawn_rank(LaunchPlan& plan, int rank, const Fd& exec_errors);

}  // namespace smddprun
