#include "start.hpp"

#include "exit_status.hpp"
#include "job.hpp"
#include "process_tree.hpp"

#include <fcntl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

namespace smddprun {
namespace {

struct Pipe {
  Fd read_end, write_end;
};

Pipe make_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw Failure(with_errno("pipe", errno));
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  Pipe pipe;
  pipe.read_end.reset(ends[0]);
  pipe.write_end.reset(ends[1]);
  return pipe;
}

}  // namespace

rlimit raise_descriptor_limit(int processes) {
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  const rlim_t needed = 64 + 8 * static_cast<rlim_t>(processes);
  if (before.rlim_cur < needed) {
    rlimit raised = before;
    raised.rlim_cur = std::min(needed, before.rlim_max);
    setrlimit(RLIMIT_NOFILE, &raised);
  }
  return before;
}

Started start_keeper(LaunchPlan& plan, const std::function<void()>& close_own, const std::function<void(Fd channel)>& run) {
  Started started;
  for (int i = 0; i < plan.here.processes(); ++i) {
    Pipe out = make_pipe(), err = make_pipe();
    plan.streams.push_back({std::move(out.write_end), std::move(err.write_end)});
    started.sources.push_back(std::move(out.read_end));
    started.sources.push_back(std::move(err.read_end));
  }
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) throw Failure(with_errno("socketpair", errno));
  started.channel.reset(ends[0]);
  Fd keeper_end(ends[1]);

  const sigset_t held = held_signals();
  sigprocmask(SIG_BLOCK, &held, &plan.signal_mask);
  become_subreaper();
  started.keeper = fork();
  if (started.keeper < 0) throw Failure(with_errno("fork", errno));
  if (started.keeper == 0) {
    started.channel.reset();
    started.sources.clear();
    close_own();
    run(std::move(keeper_end));
    _exit(kLauncherFailed);
  }
  plan.streams.clear();
  plan.listener.reset();
  plan.rank0_stdin.reset();
  return started;
}

}  // namespace smddprun
