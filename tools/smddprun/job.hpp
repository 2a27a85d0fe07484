// One job as the launcher sees it: an event loop over the keeper, the ranks' output, the terminal, signals and deadlines.
// Invariant: the first failure decides the exit status. Of ranks that end at the same moment, one that returns 1, as programs do
// when a peer is gone, yields to the others: a peer may notice a death by its connections, and end, before the dead one has ended.
#pragma once

#include "fd.hpp"
#include "hosts.hpp"
#include "keeper.hpp"
#include "rank_stream.hpp"
#include "sink.hpp"
#include "terminal_input.hpp"

#include <sys/epoll.h>

#include <memory>
#include <optional>
#include <vector>

namespace smddprun {

struct JobOptions {
  std::vector<Process> processes;
  bool prefix = true;
  int64_t grace_ms = 5000;
  int64_t timeout_ms = 0;  // 0: none
  const char* program = "";
  std::vector<HostShare> hosts;  // empty: this machine alone
};

class Job {
 public:
  // keeper: pid; channel: to the keeper; signals: a signalfd of what is passed on.
  Job(const JobOptions& options, pid_t keeper, Fd channel, Fd signals, TerminalInput input);

  void add_stream(int process, bool is_error, Fd source);

  // Runs until nothing of the job is left. Returns the exit status.
  int run();

 private:
  enum Stage { kRunning, kLingering, kTerminating, kKilling };  // lingering: all ranks have ended, some descendants have not
  enum Source : uint64_t { kKeeper, kSignals, kTerminal, kTerminalPipe, kOut, kErr, kStreams };

  bool is_finished() const;
  void drain_streams();
  void update_watches();
  void watch(int fd, uint64_t source, uint32_t events, bool wanted, bool& watched);
  int wait_ms();
  void dispatch(uint64_t source);
  void pass_time();

  void on_keeper();
  void on_signal();
  void on_exit(int process, int status);
  void on_lost(int first_process, int status);
  bool is_consequence(int process) const;
  void judge();
  void fail(int status, const std::string& sentence);
  void command(int signal, Command::Target target);
  void terminate();
  void kill_all();
  void say(const std::string& sentence);
  void keeper_died();

  JobOptions options_;
  pid_t keeper_pid_;
  Fd channel_, signals_, epoll_;
  TerminalInput input_;
  Sink out_, err_;
  bool one_sink_;  // standard output and error are the same stream
  std::vector<std::unique_ptr<RankStream>> streams_;

  std::vector<int> statuses_;  // wait statuses by process, −1 before the end
  std::vector<int> suspects_;  // the first process that failed and those that were dying then, on other hosts also those that failed soon after
  int64_t verdict_deadline_ms_ = INT64_MAX;

  Stage stage_ = kRunning;
  std::optional<int> status_;
  int running_;  // ranks; with the last of them the job ends, servers or not
  int interrupts_ = 0;
  int64_t stage_deadline_ms_ = INT64_MAX;
  int64_t timeout_at_ms_ = INT64_MAX;
  bool ended_ = false;
  bool watches_keeper_ = false, watches_signals_ = false, watches_terminal_ = false, watches_pipe_ = false, watches_out_ = false,
       watches_err_ = false;
};

// The signals that a launcher passes on, with SIGPIPE and SIGTTIN, which it only holds back.
sigset_t passed_signals();
sigset_t held_signals();

}  // namespace smddprun
