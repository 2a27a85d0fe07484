#include "spawn.hpp"

#include "exit_status.hpp"

#include <fcntl.h>
#include <sys/prctl.h>

#include <cerrno>
#include <filesystem>

namespace smddprun {
namespace {

// The server program lies beside this one.
std::string server_path() {
  std::error_code none;
  return std::filesystem::read_symlink("/proc/self/exe", none).replace_filename(kServerProgram);
}

[[noreturn]] void run(LaunchPlan& plan, int process, const Fd& exec_errors, pid_t parent) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(kLauncherFailed);  // it died before the line above

  const auto [serves, number] = process_of(plan.here, process);
  const bool is_rank0 = !serves && number == 0;
  if (!is_rank0) {
    const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    dup2(null, STDIN_FILENO);
  } else if (plan.rank0_stdin) {
    dup2(plan.rank0_stdin.get(), STDIN_FILENO);
  }
  const RankStreams& streams = plan.streams[process - plan.here.first_process()];
  dup2(streams.out.get(), STDOUT_FILENO);
  dup2(streams.err.get(), STDERR_FILENO);

  if (serves) set_server(number, plan.size, plan.point, plan.environment);
  else set_rank({number, plan.size, number - plan.here.first_rank, plan.here.ranks}, plan.point, plan.environment);
  if (is_rank0) {
    fcntl(plan.listener.get(), F_SETFD, 0);
    plan.environment.set("SMDDP_BOOTSTRAP_FD", std::to_string(plan.listener.get()));
  }
  setrlimit(RLIMIT_NOFILE, &plan.descriptor_limit);
  sigprocmask(SIG_SETMASK, &plan.signal_mask, nullptr);
  environ = plan.environment.pointers();
  if (serves) execl(server_path().c_str(), kServerProgram, "--again", nullptr);
  else execvp(plan.program[0], plan.program);

  const ExecError report{process, errno};
  [[maybe_unused]] const ssize_t written = write(exec_errors.get(), &report, sizeof report);
  _exit(report.error == ENOENT || report.error == ENOTDIR ? kNotFound : kCannotExecute);
}

}  // namespace

pid_t spawn_process(LaunchPlan& plan, int process, const Fd& exec_errors) {
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid == 0) run(plan, process, exec_errors, parent);
  if (pid > 0) setpgid(pid, pid);  // also here: a signal to the group may be sent before the child has run
  return pid;
}

}  // namespace smddprun
