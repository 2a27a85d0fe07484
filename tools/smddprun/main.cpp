// smddprun: starts a program as the ranks of a job on this machine or on several hosts, or, under another launcher, as the rank that it already is.
#include "agent.hpp"
#include "environment.hpp"
#include "exit_status.hpp"
#include "job.hpp"
#include "options.hpp"
#include "ports.hpp"
#include "remote_keeper.hpp"
#include "start.hpp"
#include "translate.hpp"

#include <fcntl.h>
#include <sys/signalfd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace smddprun {

std::string with_errno(const std::string& what, int error) { return what + ": " + std::strerror(error); }

namespace {

// Descriptors 0 to 2 must be open, or the next ones would take their place.
void open_standard_streams() {
  int fd;
  do {
    fd = open("/dev/null", O_RDWR | O_CLOEXEC);
  } while (fd >= 0 && fd <= STDERR_FILENO);
  close(fd);
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
  plan.servers = options.servers;
  plan.here = {"", 0, options.ranks, 0, options.servers};
  plan.program = options.program;
  plan.environment = environment;
  if (options.servers) plan.environment.set("SMDDP_SERVERS", std::to_string(options.servers));
  plan.descriptor_limit = raise_descriptor_limit(plan.here.processes());
  plan.point.job_id = random_job_id();

  Ports ports;
  if (options.hosts.empty()) {
    ports = reserve_ports();
    if (!ports.reachable) std::fprintf(stderr, "smddprun: warning: no loopback interface is up, ranks cannot reach each other by TCP\n");
    plan.point = {ports.address, ports.bootstrap_port, ports.master_port, plan.point.job_id};
    plan.listener = std::move(ports.listener);
  }
  TerminalInput input;
  plan.rank0_stdin = input.take_rank_end();
  Started started = start_keeper(plan, [&input] { input.close(); }, [&](Fd channel) {
    if (options.hosts.empty()) run_keeper(plan, std::move(channel));
    run_remote_keeper(plan, options.hosts, options.remote_command, std::move(channel));
  });

  JobOptions job_options;
  for (int process = 0; process < plan.here.processes(); ++process) {
    job_options.processes.push_back(process_of(options.hosts.empty() ? plan.here : host_of(options.hosts, process), process));
  }
  job_options.prefix = options.prefix;
  job_options.grace_ms = static_cast<int64_t>(options.grace_s * 1000);
  job_options.timeout_ms = static_cast<int64_t>(options.timeout_s * 1000);
  job_options.program = options.program[0];
  job_options.hosts = options.hosts;
  const sigset_t passed = passed_signals();
  Job job(job_options, started.keeper, std::move(started.channel), Fd(signalfd(-1, &passed, SFD_CLOEXEC | SFD_NONBLOCK)), std::move(input));
  for (size_t i = 0; i < started.sources.size(); ++i) job.add_stream(static_cast<int>(i / 2), i % 2 == 1, std::move(started.sources[i]));
  return job.run();
}

}  // namespace
}  // namespace smddprun

int main(int argc, char** argv) {
  using namespace smddprun;
  open_standard_streams();
  Options options;
  if (argc == 2 && std::strcmp(argv[1], kAgentOption) == 0) return run_agent();
  if (const auto status = parse_options(argc, argv, options)) return *status;
  try {
    Environment environment;
    apply_exports(options.exports, environment);
    if (options.hosts.empty() && options.ranks == 0) {
      if (translate_launcher(environment)) return execute_in_place(options, environment);
      options.ranks = 1;
    }
    return launch(options, environment);
  } catch (const Failure& failure) {
    std::fprintf(stderr, "smddprun: %s\n", failure.what());
    return failure.status();
  }
}
