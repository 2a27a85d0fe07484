#include "remote_keeper.hpp"

#include "exit_status.hpp"
#include "link.hpp"
#include "plan_frame.hpp"
#include "process_tree.hpp"
#include "rank_stream.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>

namespace smddprun {
namespace {

constexpr int64_t kLeaveMs = 5000;           // for agents and remote commands to end by themselves
constexpr int64_t kInputInFlight = 1 << 18;  // bytes that rank 0 has not taken

class RemoteKeeper {
 public:
  RemoteKeeper(LaunchPlan& plan, Fd channel);
  void start(const std::vector<HostShare>& hosts, const std::vector<std::string>& command);
  void serve();

 private:
  struct Output {
    Fd fd;  // to the launcher
    OutQueue queue;
  };

  void prepare_polls();
  void obey();
  void deliver(const Command& command);
  void read_input();
  void listen(Link& link);
  void hear(Link& link, const Frame& frame);
  void plan(Link& link);
  void flush(size_t output);
  bool is_backed_up(const Link& link) const;
  void reap();
  void report(Event event) {
    uninterrupted([&] { return send(channel_.get(), &event, sizeof event, MSG_NOSIGNAL); });
  }
  Link& link_of(size_t output);
  bool all_gone() const;
  bool has_output() const;

  LaunchPlan& plan_;
  std::string folder_;  // where the launcher runs
  Fd channel_;
  Fd input_, children_;
  int64_t input_in_flight_ = 0;
  std::vector<Link> links_;
  std::vector<Output> outputs_;  // each process's standard output and error in turn
  std::vector<pollfd> polls_;    // channel, children, input, a link's two, an output's one
  int64_t kill_at_ms_ = INT64_MAX;
};

RemoteKeeper::RemoteKeeper(LaunchPlan& plan, Fd channel) : plan_(plan), channel_(std::move(channel)) {
  input_ = plan_.rank0_stdin ? std::move(plan_.rank0_stdin) : Fd(fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  for (RankStreams& streams : plan_.streams) {
    for (Fd* fd : {&streams.out, &streams.err}) {
      fcntl(fd->get(), F_SETFL, O_NONBLOCK);
      outputs_.push_back({std::move(*fd), {}});
    }
  }
  std::error_code none;
  folder_ = std::filesystem::current_path(none);
  sigset_t child_signal;
  sigemptyset(&child_signal);
  sigaddset(&child_signal, SIGCHLD);
  children_.reset(signalfd(-1, &child_signal, SFD_CLOEXEC | SFD_NONBLOCK));
}

void RemoteKeeper::start(const std::vector<HostShare>& hosts, const std::vector<std::string>& command) {
  for (const HostShare& host : hosts) links_.push_back(start_link(host, command, plan_));
}

void RemoteKeeper::plan(Link& link) {
  const bool first = link.host.first_process() == 0;
  if (link.planned || !link.in.begun() || (!first && plan_.point.address.empty())) return;
  link.tell(FrameKind::kPlan, pack_plan(plan_, link.host, folder_));
  link.planned = true;
}

void RemoteKeeper::hear(Link& link, const Frame& frame) {
  Unpacker unpacker(frame.body);
  switch (frame.kind) {
    case FrameKind::kPlace:
      unpack_place(frame.body, plan_.point);
      for (Link& other : links_) plan(other);
      break;
    case FrameKind::kOutput: {
      const auto process = unpacker.number<int>(), is_error = unpacker.number<int>();
      const size_t output = 2 * static_cast<size_t>(process) + (is_error != 0);
      if (output >= outputs_.size() || !outputs_[output].fd) break;
      outputs_[output].queue.add(unpacker.rest());
      flush(output);
      break;
    }
    case FrameKind::kEvent: {
      const auto event = unpacker.number<Event>();
      if (event.kind != Event::kEnded) {
        report(event);
      } else {
        link.ended = true;
        link.to.reset();
      }
      break;
    }
    case FrameKind::kTaken: input_in_flight_ -= unpacker.number<int64_t>(); break;
    case FrameKind::kFailed: std::fprintf(stderr, "smddprun: host %s: %s\n", link.host.name.c_str(), frame.body.c_str()); break;
    default: break;
  }
}

void RemoteKeeper::listen(Link& link) {
  const bool there = link.in.fill(link.from.get());
  try {
    while (const std::optional<Frame> frame = link.in.next()) hear(link, *frame);
  } catch (const Failure& failure) {
    std::fprintf(stderr, "smddprun: host %s: %s\n", link.host.name.c_str(), failure.what());
    kill(link.process, SIGKILL);
    link.from.reset();
    return;
  }
  plan(link);
  if (!there) {
    link.from.reset();
    link.to.reset();
  }
}

Link& RemoteKeeper::link_of(size_t output) {
  const int process = static_cast<int>(output / 2);
  return *std::find_if(links_.begin(), links_.end(), [process](const Link& link) { return process < link.host.first_process() + link.host.processes(); });
}

void RemoteKeeper::flush(size_t output) {
  Output& its = outputs_[output];
  if (!its.fd || its.queue.flush(its.fd.get())) return;
  its.fd.reset();
  its.queue = {};
  Link& link = link_of(output);
  link.tell(FrameKind::kClosed, Packer().number(static_cast<uint32_t>(output - 2 * static_cast<size_t>(link.host.first_process()))).bytes());
}

bool RemoteKeeper::is_backed_up(const Link& link) const {
  const auto begin = outputs_.begin() + 2 * link.host.first_process();
  return std::any_of(begin, begin + 2 * link.host.processes(), [](const Output& output) { return output.queue.full(); });
}

void RemoteKeeper::read_input() {
  char buffer[32768];
  const ssize_t length = read(input_.get(), buffer, sizeof buffer);
  if (length < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (length <= 0) {
    links_[0].tell(FrameKind::kInputEnd, {});
    return input_.reset();
  }
  links_[0].tell(FrameKind::kInput, {buffer, static_cast<size_t>(length)});
  input_in_flight_ += length;
}

void RemoteKeeper::deliver(const Command& command) {
  for (Link& link : links_) {
    if (link.planned) link.tell(FrameKind::kCommand, Packer().number(command).bytes());
    else if (command.target == Command::kTree && !link.gone) kill(link.process, command.signal);
  }
  if (command.target == Command::kTree && command.signal == SIGKILL) kill_at_ms_ = std::min(kill_at_ms_, clock_ms() + kLeaveMs);
}

void RemoteKeeper::obey() {
  Command command;
  const ssize_t length = recv(channel_.get(), &command, sizeof command, MSG_DONTWAIT);
  if (length == sizeof command) return deliver(command);
  if (length < 0 && (errno == EAGAIN || errno == EINTR)) return;
  channel_.reset();  // the launcher is dead
  for (Link& link : links_) link.to.reset();
  kill_at_ms_ = std::min(kill_at_ms_, clock_ms() + kLeaveMs);
}

void RemoteKeeper::reap() {
  signalfd_siginfo ignored;
  while (read(children_.get(), &ignored, sizeof ignored) > 0) continue;
  int status = 0;
  for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
    const auto link = std::find_if(links_.begin(), links_.end(), [pid](const Link& one) { return one.process == pid; });
    if (link == links_.end()) continue;
    while (link->from) {
      pollfd more{link->from.get(), POLLIN, 0};
      if (poll(&more, 1, 0) <= 0) break;
      listen(*link);
    }
    link->from.reset();
    link->to.reset();
    link->gone = true;
    link->status = status;
    if (!link->ended) report({Event::kLost, link->host.first_process(), status});
  }
}

bool RemoteKeeper::all_gone() const {
  return std::all_of(links_.begin(), links_.end(), [](const Link& link) { return link.gone; });
}

bool RemoteKeeper::has_output() const {
  return std::any_of(outputs_.begin(), outputs_.end(), [](const Output& output) { return output.queue.pending(); });
}

void RemoteKeeper::prepare_polls() {
  const bool takes_input = input_ && links_[0].planned && input_in_flight_ < kInputInFlight;
  polls_ = {{channel_.get(), POLLIN, 0}, {children_.get(), POLLIN, 0}, {takes_input ? input_.get() : -1, POLLIN, 0}};
  for (const Link& link : links_) {
    polls_.push_back({is_backed_up(link) ? -1 : link.from.get(), POLLIN, 0});
    polls_.push_back({link.out.pending() ? link.to.get() : -1, POLLOUT, 0});
  }
  for (const Output& output : outputs_) polls_.push_back({output.queue.pending() ? output.fd.get() : -1, POLLOUT, 0});
}

void RemoteKeeper::serve() {
  while (!all_gone() || has_output()) {
    prepare_polls();
    const int64_t left = std::max<int64_t>(0, kill_at_ms_ - clock_ms());
    poll(polls_.data(), polls_.size(), kill_at_ms_ == INT64_MAX ? -1 : static_cast<int>(std::min<int64_t>(left, 60000)));
    if (polls_[0].revents) obey();
    if (polls_[2].revents) read_input();
    for (size_t i = 0; i < links_.size(); ++i) {
      if (polls_[3 + 2 * i].revents) listen(links_[i]);
    }
    for (size_t i = 0; i < outputs_.size(); ++i) flush(i);
    if (polls_[1].revents) reap();
    for (Link& link : links_) link.flush();
    if (clock_ms() >= kill_at_ms_) {
      signal_descendants(SIGKILL);
      kill_at_ms_ = clock_ms() + kLeaveMs;
    }
  }
  kill_descendants();  // what a remote command left on this host
  report({Event::kEnded, 0, 0});
}

}  // namespace

void run_remote_keeper(LaunchPlan& plan, const std::vector<HostShare>& hosts, const std::vector<std::string>& command, Fd channel) {
  // As run_keeper.
  setpgid(0, 0);
  prctl(PR_SET_NAME, "smddp-keeper");
  become_subreaper();
  RemoteKeeper keeper(plan, std::move(channel));
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO}) dup2(null, stream);
  try {
    keeper.start(hosts, command);
  } catch (const Failure& failure) {
    std::fprintf(stderr, "smddprun: %s\n", failure.what());
    kill_descendants();
    _exit(kLauncherFailed);
  }
  keeper.serve();
  _exit(0);
}

}  // namespace smddprun
