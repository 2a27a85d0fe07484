#include "job.hpp"

#include "exit_status.hpp"
#include "process_tree.hpp"

#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace smddprun {
namespace {

constexpr int64_t kLingerMs = 300;    // for children of ranks that are about to end by themselves
constexpr int64_t kGiveUpMs = 15000;  // after SIGKILL
constexpr int64_t kVerdictMs = 1000;  // for a dying rank to be dead

std::string describe_signal(int signal) {
  const char* name = sigabbrev_np(signal);
  const char* meaning = sigdescr_np(signal);
  std::string text = "signal " + std::to_string(signal);
  if (name && meaning) text += std::string(" (SIG") + name + ", " + meaning + ")";
  return text;
}

}  // namespace

Job::Job(const JobOptions& options, pid_t keeper, Fd channel, Fd signals, TerminalInput input)
    : options_(options), keeper_pid_(keeper), channel_(std::move(channel)), signals_(std::move(signals)),
      epoll_(epoll_create1(EPOLL_CLOEXEC)), input_(std::move(input)), out_(STDOUT_FILENO), err_(STDERR_FILENO),
      one_sink_(same_stream(STDOUT_FILENO, STDERR_FILENO)), statuses_(options.processes.size(), -1),
      running_(static_cast<int>(std::count_if(options.processes.begin(), options.processes.end(), [](const Process& process) { return !process.serves; }))) {
  if (options.timeout_ms > 0) timeout_at_ms_ = clock_ms() + options.timeout_ms;
}

void Job::add_stream(int process, bool is_error, Fd source) {
  const Process& its = options_.processes[process];
  const std::string prefix = options_.prefix ? "[" + (its.serves ? its.name() : std::to_string(its.number)) + "] " : "";
  streams_.push_back(std::make_unique<RankStream>(std::move(source), is_error && !one_sink_ ? err_ : out_, prefix));
}

bool Job::is_finished() const {
  if (!ended_ || out_.pending() || err_.pending() || verdict_deadline_ms_ != INT64_MAX) return false;
  return std::none_of(streams_.begin(), streams_.end(), [](const auto& stream) { return stream->is_open(); });
}

int Job::run() {
  while (!is_finished()) {
    drain_streams();
    const int wait = wait_ms();
    update_watches();  // after both, which may have given a sink something to write
    epoll_event events[64];
    const int count = epoll_wait(epoll_.get(), events, 64, wait);
    for (int i = 0; i < count; ++i) dispatch(events[i].data.u64);
    pass_time();
    judge();
    out_.flush();
    err_.flush();
  }
  return status_.value_or(0);
}

void Job::watch(int fd, uint64_t source, uint32_t events, bool wanted, bool& watched) {
  if (wanted == watched) return;
  epoll_event event{};
  event.events = events;
  event.data.u64 = source;
  // A file that epoll does not know (EPERM) is always ready, and then nothing ever waits for it.
  if (epoll_ctl(epoll_.get(), wanted ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, fd, &event) == 0) watched = wanted;
}

void Job::drain_streams() {
  for (const std::unique_ptr<RankStream>& stream : streams_) {
    if (stream->is_open() && stream->sink().broken()) stream->pump();  // closes it, so that the rank learns it from its next write
    if (!stream->is_open() || !ended_) continue;
    stream->pump();
    // No process of the job is left; whoever still holds the other end is a stranger that a rank passed it to.
    if (stream->is_open() && !stream->sink().full()) stream->close();
  }
}

void Job::update_watches() {
  watch(channel_.get(), kKeeper, EPOLLIN, !ended_, watches_keeper_);
  watch(signals_.get(), kSignals, EPOLLIN, true, watches_signals_);
  watch(out_.fd(), kOut, EPOLLOUT, out_.pending(), watches_out_);
  watch(err_.fd(), kErr, EPOLLOUT, err_.pending(), watches_err_);
  if (input_.is_active()) {
    watch(input_.pipe_fd(), kTerminalPipe, EPOLLOUT, input_.wants_pipe(), watches_pipe_);
  } else {
    watches_pipe_ = false;
  }
  watch(STDIN_FILENO, kTerminal, EPOLLIN, input_.wants_terminal(), watches_terminal_);
  for (size_t i = 0; i < streams_.size(); ++i) {
    RankStream& stream = *streams_[i];
    if (stream.is_open()) watch(stream.fd(), kStreams + i, EPOLLIN, !stream.sink().full(), stream.watched);
  }
}

int Job::wait_ms() {
  const int64_t now = clock_ms();
  int64_t until = std::min({stage_deadline_ms_, timeout_at_ms_, verdict_deadline_ms_});
  for (const auto& stream : streams_) until = std::min(until, stream->show_unfinished(now));
  out_.flush();
  err_.flush();
  if (is_finished()) return 0;
  return until == INT64_MAX ? -1 : static_cast<int>(std::clamp<int64_t>(until - now, 0, 60000));
}

void Job::dispatch(uint64_t source) {
  switch (source) {
    case kKeeper: return on_keeper();
    case kSignals: return on_signal();
    case kTerminal: return input_.read_terminal();
    case kTerminalPipe: return input_.write_pipe();
    case kOut: return out_.flush();
    case kErr: return err_.flush();
    default: return streams_[source - kStreams]->pump();
  }
}

void Job::pass_time() {
  const int64_t now = clock_ms();
  if (now >= timeout_at_ms_) {
    timeout_at_ms_ = INT64_MAX;
    if (stage_ == kRunning || stage_ == kLingering) {
      char seconds[32];
      std::snprintf(seconds, sizeof seconds, "%g", static_cast<double>(options_.timeout_ms) / 1000);
      fail(kTimedOut, std::string("the job has not ended within ") + seconds + " s (--timeout)");
    }
  }
  if (now < stage_deadline_ms_) return;
  stage_deadline_ms_ = INT64_MAX;
  if (stage_ == kLingering) return terminate();
  if (stage_ == kTerminating) return kill_all();
  say("processes of the job do not die; they are left to process " + std::to_string(keeper_pid_));
  if (!status_) status_ = kLauncherFailed;
  ended_ = true;
}

void Job::on_keeper() {
  Event event;
  ssize_t length;
  for (;;) {
    length = uninterrupted([&] { return recv(channel_.get(), &event, sizeof event, MSG_DONTWAIT); });
    // The keeper ended before it had read the last command. The error comes once and before what it said: that must not be lost.
    if (length < 0 && errno == ECONNRESET) continue;
    if (length != sizeof event) break;
    switch (event.kind) {
      case Event::kForkFailed:
        fail(kLauncherFailed, with_errno("cannot start " + options_.processes[event.process].name(), event.value));
        running_ = 0;
        break;
      case Event::kExecFailed: {
        const bool found = event.value != ENOENT && event.value != ENOTDIR;
        fail(found ? kCannotExecute : kNotFound, with_errno(std::string("cannot run '") + (options_.processes[event.process].serves ? kServerProgram : options_.program) + "'", event.value));
        break;
      }
      case Event::kLost: on_lost(event.process, event.value); break;
      case Event::kDying: suspects_.push_back(event.process); break;
      case Event::kExited: on_exit(event.process, event.value); break;
      case Event::kEnded:
        ended_ = true;
        stage_deadline_ms_ = timeout_at_ms_ = INT64_MAX;
        waitpid(keeper_pid_, nullptr, 0);
        return;
    }
  }
  if (length == 0) keeper_died();
}

void Job::on_exit(int process, int status) {
  statuses_[process] = status;
  const bool serves = options_.processes[process].serves;
  if (serves && running_ == 0) return;  // the job has ended before
  if (!serves) --running_;
  if (status != 0 && !status_ && verdict_deadline_ms_ == INT64_MAX) {
    suspects_.insert(suspects_.begin(), process);
    verdict_deadline_ms_ = clock_ms() + kVerdictMs;
  } else if (status != 0 && !status_ && !options_.hosts.empty()) {
    suspects_.push_back(process);
  }
  if (running_ == 0 && stage_ == kRunning && suspects_.empty()) {
    stage_ = kLingering;
    stage_deadline_ms_ = clock_ms() + kLingerMs;
  }
}

void Job::on_lost(int first_process, int status) {
  const HostShare& host = host_of(options_.hosts, first_process);
  for (int process = first_process; process < first_process + host.processes(); ++process) {
    if (statuses_[process] < 0 && !options_.processes[process].serves) --running_;
    if (statuses_[process] < 0) statuses_[process] = status;
  }
  const std::string end = WIFSIGNALED(status) ? "was ended by " + describe_signal(WTERMSIG(status))
                                              : "ended with status " + std::to_string(WEXITSTATUS(status));
  fail(kLauncherFailed, "host " + host.name + ": the remote command " + end + " before its ranks did");
}

bool Job::is_consequence(int process) const { return WIFEXITED(statuses_[process]) && WEXITSTATUS(statuses_[process]) == 1; }

void Job::judge() {
  if (verdict_deadline_ms_ == INT64_MAX || status_) return;
  int process = suspects_.front();
  for (const int other : suspects_) {
    if (statuses_[other] < 0 && clock_ms() < verdict_deadline_ms_) return;
    if (statuses_[other] > 0 && is_consequence(process) && !is_consequence(other)) process = other;
  }
  // The death of a rank on another host may be known to its peers before it is known here.
  if (!options_.hosts.empty() && is_consequence(process) && running_ > 0 && clock_ms() < verdict_deadline_ms_) return;
  // What the process said last belongs before what is said about it.
  for (int stream = 2 * process; stream < 2 * process + 2; ++stream) streams_[stream]->pump();
  const int status = statuses_[process];
  const bool by_signal = WIFSIGNALED(status);
  const int code = by_signal ? kSignalBase + WTERMSIG(status) : WEXITSTATUS(status);
  std::string sentence = options_.processes[process].name();
  sentence += by_signal ? " was ended by " + describe_signal(WTERMSIG(status)) : " exited with status " + std::to_string(code);
  if (by_signal && WCOREDUMP(status)) sentence += ", core dumped";
  if (running_ > 0) sentence += "; ending the others";
  fail(code, sentence);
}

void Job::on_signal() {
  signalfd_siginfo info;
  while (read(signals_.get(), &info, sizeof info) == sizeof info) {
    const int signal = static_cast<int>(info.ssi_signo);
    if (signal == SIGUSR1 || signal == SIGUSR2) {
      command(signal, Command::kRanks);
      continue;
    }
    if (signal == SIGCONT) input_.continued();
    command(signal, Command::kGroups);
    if (signal == SIGTSTP) kill(getpid(), SIGSTOP);
    if (signal != SIGINT && signal != SIGTERM) continue;
    if (ended_) {
      out_.discard();
      err_.discard();
    }
    ++interrupts_;
    if (interrupts_ == 2 && stage_ < kTerminating) fail(kSignalBase + signal, "ending the ranks after a second " + describe_signal(signal));
    if (interrupts_ == 3 && stage_ < kKilling) kill_all();
  }
}

void Job::fail(int status, const std::string& sentence) {
  if (status_) return;
  status_ = status;
  verdict_deadline_ms_ = INT64_MAX;
  say(sentence);
  terminate();
}

void Job::command(int signal, Command::Target target) {
  const Command packet{signal, target};
  uninterrupted([&] { return send(channel_.get(), &packet, sizeof packet, MSG_NOSIGNAL); });
}

void Job::terminate() {
  stage_ = kTerminating;
  stage_deadline_ms_ = clock_ms() + options_.grace_ms;
  command(SIGTERM, Command::kTree);
  command(SIGCONT, Command::kTree);  // a stopped process would not see it
}

void Job::kill_all() {
  stage_ = kKilling;
  stage_deadline_ms_ = clock_ms() + kGiveUpMs;
  command(SIGKILL, Command::kTree);
}

void Job::say(const std::string& sentence) {
  (one_sink_ ? out_ : err_).append(this, "smddprun: ", sentence + "\n");
}

void Job::keeper_died() {
  // The ranks died with it; their descendants are now children of this process.
  fail(kLauncherFailed, "the process that keeps the ranks was killed");
  kill_descendants();
  ended_ = true;
  stage_deadline_ms_ = timeout_at_ms_ = INT64_MAX;
}

sigset_t passed_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGTSTP, SIGCONT, SIGUSR1, SIGUSR2}) sigaddset(&set, signal);
  return set;
}

sigset_t held_signals() {
  sigset_t set = passed_signals();
  for (const int signal : {SIGPIPE, SIGTTIN, SIGCHLD}) sigaddset(&set, signal);
  return set;
}

}  // namespace smddprun
