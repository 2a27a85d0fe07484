#include "spawn.hpp"

#include "exit_status.hpp"

#include <fcntl.h>
#include <sys/prctl.h>

#include <cerrno>

namespace smddprun {
namespace {

[[noreturn]] void run_rank(LaunchPlan& plan, int rank, const Fd& exec_errors, pid_t parent) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(kLauncherFailed);  // it died before the line above

  if (rank != 0) {
    const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    dup2(null, STDIN_FILENO);
  } else if (plan.rank0_stdin) {
    dup2(plan.rank0_stdin.get(), STDIN_FILENO);
  }
  const int local_rank = rank - plan.first_rank;
  dup2(plan.streams[local_rank].out.get(), STDOUT_FILENO);
  dup2(plan.streams[local_rank].err.get(), STDERR_FILENO);

  set_rank({rank, plan.size, local_rank, plan.ranks}, plan.point, plan.environment);
  if (rank == 0) {
    fcntl(plan.listener.get(), F_SETFD, 0);
    plan.environment.set("SMDDP_BOOTSTRAP_FD", std::to_string(plan.listener.get()));
  }
  setrlimit(RLIMIT_NOFILE, &plan.descriptor_limit);
  sigprocmask(SIG_SETMASK, &plan.signal_mask, nullptr);
  environ = plan.environment.pointers();
  execvp(plan.program[0], plan.program);

  const ExecError report{rank, errno};
  [[maybe_unused]] const ssize_t written = write(exec_errors.get(), &report, sizeof report);
  _exit(report.error == ENOENT || report.error == ENOTDIR ? kNotFound : kCannotExecute);
}

}  // namespace

pid_t spawn_rank(LaunchPlan& plan, int rank, const Fd& exec_errors) {
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid == 0) run_rank(plan, rank, exec_errors, parent);
  if (pid > 0) setpgid(pid, pid);  // also here: a signal to the group may be sent before the child has run
  return pid;
}

}  // namespace smddprun
