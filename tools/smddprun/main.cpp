// smddprun: starts a program as the ranks of a job on this machine, or, under another launcher, as the rank that it already is.
#include "environment.hpp"
#include "exit_status.hpp"
#include "job.hpp"
#include "options.hpp"
#include "ports.hpp"
#include "process_tree.hpp"
#include "translate.hpp"

#include <fcntl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

namespace smddprun {

std::string with_errno(const std::string& what, int error) { return what + ": " + std::strerror(error); }

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

// Descriptors 0 to 2 must be open, or the next ones would take their place.
void open_standard_streams() {
  int fd;
  do {
    fd = open("/dev/null", O_RDWR | O_CLOEXEC);
  } while (fd >= 0 && fd <= STDERR_FILENO);
  close(fd);
}

rlimit raise_descriptor_limit(int ranks) {
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  const rlim_t needed = 64 + 8 * static_cast<rlim_t>(ranks);
  if (before.rlim_cur < needed) {
    rlimit raised = before;
    raised.rlim_cur = std::min(needed, before.rlim_max);
    setrlimit(RLIMIT_NOFILE, &raised);
  }
  return before;
}

int execute_in_place(const Options& options, Environment& environment) {
  environ = environment.pointers();
  execvp(options.program[0], options.program);
  const bool found = errno != ENOENT && errno != ENOTDIR;
  throw Failure(with_errno(std::string("cannot run '") + options.program[0] + "'", errno), found ? kCannotExecute : kNotFound);
}

int launch(const Options& options, const Environment& environment) {
  LaunchPlan plan;
  plan.size = options.ranks;
  plan.program = options.program;
  plan.environment = environment;
  plan.descriptor_limit = raise_descriptor_limit(options.ranks);

  Ports ports = reserve_ports();
  if (!ports.reachable) std::fprintf(stderr, "smddprun: warning: no loopback interface is up, ranks cannot reach each other by TCP\n");
  plan.point = {ports.address, ports.bootstrap_port, ports.master_port, random_job_id()};
  plan.listener = std::move(ports.listener);

  TerminalInput input;
  plan.rank0_stdin = input.take_rank_end();
  std::vector<Fd> sources;
  for (int rank = 0; rank < options.ranks; ++rank) {
    Pipe out = make_pipe(), err = make_pipe();
    plan.streams.push_back({std::move(out.write_end), std::move(err.write_end)});
    sources.push_back(std::move(out.read_end));
    sources.push_back(std::move(err.read_end));
  }
  int channel[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, channel) != 0) throw Failure(with_errno("socketpair", errno));
  Fd own_end(channel[0]), keeper_end(channel[1]);

  const sigset_t held = held_signals(), passed = passed_signals();
  sigprocmask(SIG_BLOCK, &held, &plan.signal_mask);
  become_subreaper();
  const pid_t keeper = fork();
  if (keeper < 0) throw Failure(with_errno("fork", errno));
  if (keeper == 0) {
    own_end.reset();
    sources.clear();
    input.close();
    run_keeper(plan, std::move(keeper_end));
  }
  keeper_end.reset();
  plan.streams.clear();
  plan.listener.reset();
  plan.rank0_stdin.reset();

  JobOptions job_options;
  job_options.size = options.ranks;
  job_options.prefix = options.prefix;
  job_options.grace_ms = static_cast<int64_t>(options.grace_s * 1000);
  job_options.timeout_ms = static_cast<int64_t>(options.timeout_s * 1000);
  job_options.program = options.program[0];
  Job job(job_options, keeper, std::move(own_end), Fd(signalfd(-1, &passed, SFD_CLOEXEC | SFD_NONBLOCK)), std::move(input));
  for (size_t i = 0; i < sources.size(); ++i) job.add_stream(static_cast<int>(i / 2), i % 2 == 1, std::move(sources[i]));
  return job.run();
}

}  // namespace
}  // namespace smddprun

int main(int argc, char** argv) {
  using namespace smddprun;
  open_standard_streams();
  Options options;
  if (const auto status = parse_options(argc, argv, options)) return *status;
  try {
    Environment environment;
    apply_exports(options.exports, environment);
    if (options.ranks == 0) {
      if (translate_launcher(environment)) return execute_in_place(options, environment);
      options.ranks = 1;
    }
    return launch(options, environment);
  } catch (const Failure& failure) {
    std::fprintf(stderr, "smddprun: %s\n", failure.what());
    return failure.status();
  }
}
