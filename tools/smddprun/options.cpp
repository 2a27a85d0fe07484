#include "options.hpp"

#include "exit_status.hpp"

#include <smddp/version.h>

#include <CLI/CLI.hpp>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <sstream>

namespace smddprun {
namespace {

constexpr const char* kFooter = R"(
Without -n, inside another launcher's environment (torchrun, mpirun, mpiexec, srun, or smddprun itself), no
process is started: the launcher's variables are translated to RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE
and SMDATAPARALLEL_*, and the program takes smddprun's place. Without -n and without a launcher: -n 1.

With --hosts the ranks run on these hosts, in the order of the list. There the remote command starts this same program,
by the path that it has here, which takes working folder, environment and arguments from here.

With --servers, smddp-server runs so many times beside the ranks: processes that reduce for them and are no ranks.
They stand in turn on the hosts that the list gives no ranks (HOST:0), if there is none on all hosts of the list. What
they write begins with "[server K] ". They get no signals that are passed on, and end when the last rank has.

Variables that every rank gets:
  RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE
  MASTER_ADDR, MASTER_PORT            a port kept free for the program's own use, such as PyTorch's store
  SMDATAPARALLEL_WORLD_RANK, SMDATAPARALLEL_WORLD_SIZE, SMDATAPARALLEL_LOCAL_RANK
  SMDDP_JOB_ID                        random, one per launch
  SMDDP_SERVERS                       their number, with --servers
  SMDDP_BOOTSTRAP_ADDRESS, SMDDP_BOOTSTRAP_PORT, and for rank 0 SMDDP_BOOTSTRAP_FD, a socket that listens there

Standard input goes to rank 0. SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGTSTP and SIGCONT are passed on to the ranks and
their children, SIGUSR1 and SIGUSR2 to the ranks. A second SIGINT or SIGTERM ends the job as a failure would, a third kills it.
When a rank fails, the rest get SIGTERM and, after the grace period, SIGKILL. No process outlives the job.

Exit status: that of the rank that failed first, 128 + N if signal N ended it, 0 if all ranks returned 0;
124 after --timeout, 125 if smddprun itself failed, 126 if the program cannot be executed, 127 if it was not found.

Examples:
  smddprun -n 4 python train.py --epochs 3
  smddprun -n 2 -x OMP_NUM_THREADS=1 --timeout 600 ./train
  smddprun --hosts node1:8,node2:8,cpu1:0,cpu2:0 --servers 2 ./train
  smddprun --hosts node1:8,node2:8 --rsh "ssh -o BatchMode=yes" ./train
  mpirun -np 8 smddprun python -m mpi4py train.py)";

class Formatter : public CLI::Formatter {
  std::string make_usage(const CLI::App*, std::string) const override { return "\nUsage: smddprun [OPTIONS] PROGRAM [ARGUMENTS]\n"; }
};

// Index of the first argument that is neither an option nor an option's value.
int find_program(const CLI::App& app, int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const char* argument = argv[i];
    if (std::strcmp(argument, "--") == 0) return i + 1;
    if (argument[0] != '-' || argument[1] == '\0') return i;
    const CLI::Option* option = app.get_option_no_throw(argument);
    if (option && option->get_items_expected_min() > 0) ++i;
  }
  return argc;
}

std::vector<std::string> split_words(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words{std::istream_iterator<std::string>(stream), {}};
  if (words.empty()) throw Failure("--rsh '" + text + "' is no command");
  return words;
}

int refuse(const std::string& sentence) {
  std::fprintf(stderr, "smddprun: %s (smddprun --help)\n", sentence.c_str());
  return kLauncherFailed;
}

}  // namespace

std::optional<int> parse_options(int argc, char** argv, Options& options) {
  CLI::App app("Starts a program as the ranks of one job, on this machine or on several hosts.", "smddprun");
  app.formatter(std::make_shared<Formatter>());
  app.footer(kFooter);
  app.set_help_flag("-h,--help", "Print this text");
  bool version = false;
  bool tag = false, no_prefix = false;
  std::vector<std::string> later;
  std::string hosts, remote_command;
  app.add_flag("--version", version, "Print the version");
  auto* ranks = app.add_option("-n,--np", options.ranks, "Number of ranks, 1 … " + std::to_string(kMaximumRanks));
  ranks->type_name("N")->check(CLI::Range(1, kMaximumRanks).description(""));
  auto* tag_option = app.add_flag("--tag,--tag-output", tag, "Put \"[rank] \" before every line that a rank writes (default)");
  app.add_flag("--no-prefix", no_prefix, "Pass lines on as they are")->excludes(tag_option);
  // "nan" lies in every range.
  const CLI::Validator a_number([](std::string& text) { return std::isnan(std::strtod(text.c_str(), nullptr)) ? text + " is not a number" : std::string(); }, "");
  app.add_option("--grace", options.grace_s, "From SIGTERM to SIGKILL when a job is ended, default 5")
      ->type_name("SECONDS")->check(CLI::Range(0.0, 1e6).description(""))->check(a_number);
  app.add_option("--timeout", options.timeout_s, "End the whole job after this time with status 124; 0: never (default)")
      ->type_name("SECONDS")->check(CLI::Range(0.0, 1e9).description(""))->check(a_number);
  app.add_option("-x", options.exports, "Set a variable for the ranks; repeatable. A bare NAME is accepted: all are passed on anyway")
      ->type_name("NAME=VALUE")->expected(1)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)->allow_extra_args(false);
  auto* hosts_option = app.add_option("--hosts", hosts, "Hosts and how many ranks each takes, default 1; 0: servers alone")->type_name("HOST[:N],…");
  app.add_option("--rsh", remote_command, "Command that runs another on a host, as in CMD HOST COMMAND, default ssh")
      ->type_name("CMD")->needs(hosts_option);
  app.add_option("--servers", options.servers, "Start so many servers beside the ranks, 1 … " + std::to_string(kMaximumServers))
      ->type_name("K")->check(CLI::Range(1, kMaximumServers).description(""));
  app.add_option("--hostfile", later)->group("")->expected(1);

  const int program = find_program(app, argc, argv);
  int count = program;
  if (count > 1 && std::strcmp(argv[count - 1], "--") == 0) --count;
  try {
    app.parse(count < argc ? count : argc, argv);
  } catch (const CLI::CallForHelp&) {
    std::fputs(app.help().c_str(), stdout);
    return 0;
  } catch (const CLI::ParseError& error) {
    return refuse(error.what());
  }
  if (version) {
    std::puts("smddprun " SMDDP_VERSION_STRING);
    return 0;
  }
  if (app.count("--hostfile") > 0) return refuse("--hostfile is not supported by this version");
  if (options.servers && options.ranks == 0 && hosts_option->count() == 0) return refuse("--servers needs -n or --hosts");
  if (program >= argc) return refuse("no program to run");
  try {
    if (hosts_option->count() > 0) options.hosts = parse_hosts(hosts, options.ranks, options.servers);
    if (!options.hosts.empty()) options.ranks = options.hosts.back().first_rank + options.hosts.back().ranks;
    if (app.count("--rsh") > 0) options.remote_command = split_words(remote_command);
  } catch (const Failure& failure) {
    return refuse(failure.what());
  }
  options.prefix = !no_prefix;
  options.program = argv + program;
  return std::nullopt;
}

}  // namespace smddprun
