// smddp-info: what smddp_info(3) knows, for people and for programs. Invariant: unless it is asked for the job, it starts none and needs none.
#include "../command_line.hpp"
#include "job.hpp"
#include "schedule.hpp"
#include "text.hpp"

#include <smddp/smddp.h>

#include <nlohmann/json.hpp>

#include <cstdio>
#include <string>
#include <vector>

namespace {

enum ExitStatus { kFailed = 1, kUsage = 2 };

struct Section {
  smddp_info_kind_t kind;
  const char* name;
  const char* title;
};

constexpr Section kSections[] = {
    {SMDDP_INFO_BUILD, "build", "Build"},
    {SMDDP_INFO_TOPOLOGY, "topology", "Topology"},
    {SMDDP_INFO_PARAMETERS, "parameters", "Parameters"},
    {SMDDP_INFO_LAUNCHER, "launcher", "Launcher"},
    {SMDDP_INFO_PROVIDERS, "providers", "Providers"},
};

constexpr const char* kFooter = R"(
Without options all sections are printed. --json prints one object with a member a section: build, topology,
parameters, launcher, providers. A section that cannot be read is reported on standard error; the others are printed.
--job starts the job that the launcher describes and prints on rank 0 what joins each pair of ranks, the figures of
the network and the algorithms that follow:
  smddprun --hosts a:2,b:2 smddp-info --job
--schedule prints schedules instead, with --json an array of objects:
  smddp-info --schedule allreduce --algorithm sharded --ranks 6
  smddp-info --schedule allreduce --algorithm servers --ranks 6 --servers 2
  smddp-info --schedule broadcast --algorithm hierarchical --nodes 2+2+2 --root 3 --rank 0

Exit status: 0; 1 if a section could not be read; 2 for a bad command line.)";

int print_sections(const std::vector<const Section*>& sections, bool as_json) {
  int status = 0;
  nlohmann::ordered_json all = nlohmann::ordered_json::object();
  const char* separator = "";
  for (const Section* section : sections) {
    std::string text;
    const smddp_info_format_t format = as_json ? SMDDP_FORMAT_JSON : SMDDP_FORMAT_TEXT;
    const auto describe = [&](char* buffer, size_t capacity, size_t* length) { return smddp_info(section->kind, format, buffer, capacity, length); };
    if (!read_text(describe, text)) {
      std::fprintf(stderr, "smddp-info: %s: %s\n", section->name, text.c_str());
      status = kFailed;
    } else if (as_json) {
      all[section->name] = nlohmann::ordered_json::parse(text);
    } else {
      if (sections.size() > 1) std::printf("%s%s\n", separator, section->title);
      std::printf("%s\n", text.c_str());
      separator = "\n";
    }
  }
  if (as_json) std::printf("%s\n", all.dump(2, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
  return std::fflush(stdout) == 0 ? status : kFailed;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Describes the library, this machine, the parameters, the launcher, and schedules of collectives.", "smddp-info");
  app.footer(kFooter);
  bool as_json = false, job = false;
  bool chosen[std::size(kSections)] = {};
  app.add_flag("--json", as_json, "Print JSON");
  app.add_flag("--build", chosen[0], "Version, compiler, SIMD targets, features");
  app.add_flag("--topology", chosen[1], "NUMA nodes, cores, GPUs, network interfaces, allowed CPUs");
  app.add_flag("--params,--parameters", chosen[2], "Every SMDDP_* variable: value, default, range, meaning");
  app.add_flag("--launcher", chosen[3], "Rank, size and address that smddp_init would take, and from where");
  app.add_flag("--providers", chosen[4], "libfabric's providers here, measured, and which one a job would take");
  app.add_flag("--job", job, "Instead: nodes, transports and algorithms of a job, which all its ranks start");
  ScheduleOptions schedule;
  add_schedule_options(app, schedule);
  if (const std::optional<int> status = parse_command_line(app, argc, argv, kUsage)) return *status;
  if (!schedule.collective.empty()) return print_schedule(schedule, as_json);
  if (job) return print_job(as_json);
  std::vector<const Section*> sections;
  for (size_t i = 0; i < std::size(kSections); ++i) {
    if (chosen[i]) sections.push_back(&kSections[i]);
  }
  if (sections.empty()) {
    for (const Section& section : kSections) sections.push_back(&section);
  }
  return print_sections(sections, as_json);
}
