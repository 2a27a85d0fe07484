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

  void start();
  void serve();

 private:
  struct Child {
    int process;
    Fd pidfd;
  };

  void watch(pid_t pid, int process);
  void report(Event event) {
    uninterrupted([&] { return send(channel_.get(), &event, sizeof event, MSG_NOSIGNAL); });
  }
  void reap();
  void reap_child(pid_t pid);
  bool reap_in_order();
  void obey();
  void deliver(const Command& command);

  LaunchPlan& plan_;
  Fd channel_;
  Fd order_;  // epoll of the children's pidfds: its ready list is first in, first out, which waitpid's order is not
  std::map<pid_t, Child> children_;  // ranks and servers
  bool failed_ = false;  // some of them
  bool killing_ = false;
  bool empty_ = false;
};

void Keeper::start() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    report({Event::kForkFailed, 0, errno});
    return;
  }
  Fd read_end(ends[0]), write_end(ends[1]);
  const int first = plan_.here.first_process();
  for (int process = first; process < first + plan_.here.processes(); ++process) {
    const pid_t pid = spawn_process(plan_, process, write_end);
    if (pid < 0) {
      report({Event::kForkFailed, process, errno});
      break;
    }
    watch(pid, process);
  }
  write_end.reset();
  plan_.listener.reset();
  plan_.rank0_stdin.reset();
  plan_.streams.clear();
  ExecError error;
  while (uninterrupted([&] { return read(read_end.get(), &error, sizeof error); }) == sizeof error) report({Event::kExecFailed, error.process, error.error});
}

void Keeper::watch(pid_t pid, int process) {
  Fd pidfd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  if (pidfd) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = static_cast<uint64_t>(pid);
    epoll_ctl(order_.get(), EPOLL_CTL_ADD, pidfd.get(), &event);
  }
  children_.emplace(pid, Child{process, std::move(pidfd)});
}

void Keeper::reap_child(pid_t pid) {
  int status = 0;
  if (waitpid(pid, &status, WNOHANG) != pid) return;
  const int process = children_.extract(pid).mapped().process;
  if (status != 0 && !std::exchange(failed_, true)) {
    for (const auto& [other, child] : children_) {
      if (is_dying(other)) report({Event::kDying, child.process, 0});
    }
  }
  report({Event::kExited, process, status});
}

bool Keeper::reap_in_order() {
  epoll_event events[64];
  const int count = epoll_wait(order_.get(), events, 64, 0);
  for (int i = 0; i < count; ++i) reap_child(static_cast<pid_t>(events[i].data.u64));
  return count > 0;
}

void Keeper::reap() {
  reap_in_order();
  for (;;) {
    siginfo_t info{};
    if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0) {
      empty_ = errno == ECHILD;
      return;
    }
    if (info.si_pid == 0) return;
    if (children_.count(info.si_pid) == 0) {
      waitpid(info.si_pid, nullptr, WNOHANG);
    } else if (!reap_in_order()) {
      reap_child(info.si_pid);
    }
  }
}

void Keeper::deliver(const Command& command) {
  if (command.target == Command::kTree) {
    if (command.signal == SIGKILL) killing_ = true;
    signal_descendants(command.signal);
    return;
  }
  for (const auto& [pid, child] : children_) {
    if (!process_of(plan_.here, child.process).serves) kill(command.target == Command::kGroups ? -pid : pid, command.signal);
  }
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
  keeper.start();
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(null, stream);
  keeper.serve();
  _exit(0);
}

}  // namespace smddprun
