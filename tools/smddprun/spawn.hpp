// Starting one rank or server. Invariant: between fork and exec nothing of the launcher is left in it but its three standard streams, its
// environment and, in rank 0, the bootstrap listener.
#pragma once

#include "environment.hpp"
#include "fd.hpp"
#include "hosts.hpp"

#include <sys/resource.h>

#include <csignal>
#include <vector>

namespace smddprun {

constexpr const char* kServerProgram = "smddp-server";

struct RankStreams {
  Fd out;  // what it writes to
  Fd err;
};

// What all ranks and servers of a job are started with.
struct LaunchPlan {
  int size = 0;                  // ranks of the job
  int servers = 0;               // of the job
  HostShare here;
  char** program = nullptr;
  Environment environment;
  MeetingPoint point;
  Fd listener;
  Fd rank0_stdin;                // invalid: rank 0 has the launcher's own
  std::vector<RankStreams> streams;  // of the processes here
  sigset_t signal_mask;          // as the launcher found it
  rlimit descriptor_limit;
};

// What a process that could not be executed tells through exec_errors.
struct ExecError {
  int process;
  int error;
};

// Forks and executes. The child is the leader of a process group and is killed when this process dies. Returns -1 with errno if
// fork fails; if exec fails the child writes an ExecError and ends with status 126 or 127.
pid_t spawn_process(LaunchPlan& plan, int process, const Fd& exec_errors);

}  // namespace smddprun
