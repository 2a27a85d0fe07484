#include "keeper.hpp"

#include "process_tree.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cerrno>
#include <map>

namespace smddprun {
namespace {

class Keeper {
 public:
  Keeper(LaunchPlan& plan, Fd channel) : plan_(plan), channel_(std::move(channel)), order_(epoll_create1(EPOLL_CLOEXEC)) {}

  void start_ranks();
  void serve();

 private:
  struct Rank {
    int number;
    Fd pidfd;
  };

  void watch(pid_t pid, int rank);
  void report(Event event) {
    uninterrupted([&] { return send(channel_.get(), &event, sizeof event, MSG_NOSIGNAL); });
  }
  void reap();
  void reap_rank(pid_t pid);
  bool reap_ranks_in_order();
  void obey();
  void deliver(const Command& command);

  LaunchPlan& plan_;
  Fd channel_;
  Fd order_;  // epoll of the ranks' pidfds: its ready list is first in, first out, which waitpid's order is not
  std::map<pid_t, Rank> ranks_;
  bool failed_ = false;  // some rank
  bool killing_ = false;
  bool empty_ = false;
};

void Keeper::start_ranks() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    report({Event::kForkFailed, 0, errno});
    return;
  }
  Fd read_end(ends[0]), write_end(ends[1]);
  for (int rank = plan_.first_rank; rank < plan_.first_rank + plan_.ranks; ++rank) {
    const pid_t pid = spawn_rank(plan_, rank, write_end);
    if (pid < 0) {
      report({Event::kForkFailed, rank, errno});
      break;
    }
    watch(pid, rank);
  }
  write_end.reset();
  plan_.listener.reset();
  plan_.rank0_stdin.reset();
  plan_.streams.clear();
  ExecError error;
  while (uninterrupted([&] { return read(read_end.get(), &error, sizeof error); }) == sizeof error) report({Event::kExecFailed, error.rank, error.error});
}

void Keeper::watch(pid_t pid, int rank) {
  Fd pidfd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  if (pidfd) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = static_cast<uint64_t>(pid);
    epoll_ctl(order_.get(), EPOLL_CTL_ADD, pidfd.get(), &event);
  }
  ranks_.emplace(pid, Rank{rank, std::move(pidfd)});
}

void Keeper::reap_rank(pid_t pid) {
  int status = 0;
  if (waitpid(pid, &status, WNOHANG) != pid) return;
  const int number = ranks_.extract(pid).mapped().number;
  if (status != 0 && !std::exchange(failed_, true)) {
    for (const auto& [other, rank] : ranks_) {
      if (is_dying(other)) report({Event::kDying, rank.number, 0});
    }
  }
  report({Event::kExited, number, status});
}

bool Keeper::reap_ranks_in_order() {
  epoll_event events[64];
  const int count = epoll_wait(order_.get(), events, 64, 0);
  for (int i = 0; i < count; ++i) reap_rank(static_cast<pid_t>(events[i].data.u64));
  return count > 0;
}

void Keeper::reap() {
  reap_ranks_in_order();
  for (;;) {
    siginfo_t info{};
    if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0) {
      empty_ = errno == ECHILD;
      return;
    }
    if (info.si_pid == 0) return;
    if (ranks_.count(info.si_pid) == 0) {
      waitpid(info.si_pid, nullptr, WNOHANG);
    } else if (!reap_ranks_in_order()) {
      reap_rank(info.si_pid);
    }
  }
}

void Keeper::deliver(const Command& command) {
  if (command.target == Command::kTree) {
    if (command.signal == SIGKILL) killing_ = true;
    signal_descendants(command.signal);
    return;
  }
  for (const auto& [pid, rank] : ranks_) kill(command.target == Command::kGroups ? -pid : pid, command.signal);
}

void Keeper::obey() {
  Command command;
  const ssize_t length = recv(channel_.get(), &command, sizeof command, MSG_DONTWAIT);
  if (length == sizeof command) {
    deliver(command);
  } else if (length == 0 || (errno != EAGAIN && errno != EINTR)) {
    channel_.reset();  // the launcher is dead
    killing_ = true;
  }
}

void Keeper::serve() {
  sigset_t child_signal;
  sigemptyset(&child_signal);
  sigaddset(&child_signal, SIGCHLD);
  const Fd signals(signalfd(-1, &child_signal, SFD_CLOEXEC | SFD_NONBLOCK));
  for (;;) {
    signalfd_siginfo ignored;
    while (read(signals.get(), &ignored, sizeof ignored) > 0) {
    }
    reap();
    if (empty_) break;
    if (killing_) signal_descendants(SIGKILL);
    pollfd waits[] = {{signals.get(), POLLIN, 0}, {channel_.get(), POLLIN, 0}};
    poll(waits, 2, killing_ ? 10 : -1);
    if (waits[1].revents) obey();
  }
  report({Event::kEnded, 0, 0});
}

}  // namespace

void run_keeper(LaunchPlan& plan, Fd channel) {
  // A process group of its own: what kills the launcher's whole group must not kill the one who cleans up.
  setpgid(0, 0);
  prctl(PR_SET_NAME, "smddp-keeper");
  become_subreaper();
  Keeper keeper(plan, std::move(channel));
  keeper.start_ranks();
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(null, stream);
  keeper.serve();
  _exit(0);
}

}  // namespace smddprun
