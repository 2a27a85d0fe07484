#include "translate.hpp"

#include "exit_status.hpp"

#include <charconv>
#include <cstdio>
#include <cstring>
#include <optional>

namespace smddprun {
namespace {

// Variables of one launcher; alternatives are tried in order.
struct Launcher {
  const char* name;
  const char* rank;
  const char* size[2];
  const char* local_rank;
  const char* local_size;
};

constexpr Launcher kLaunchers[] = {
    {"RANK and WORLD_SIZE", "RANK", {"WORLD_SIZE", nullptr}, "LOCAL_RANK", "LOCAL_WORLD_SIZE"},
    {"Open MPI", "OMPI_COMM_WORLD_RANK", {"OMPI_COMM_WORLD_SIZE", nullptr}, "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"},
    {"PMI", "PMI_RANK", {"PMI_SIZE", nullptr}, "MPI_LOCALRANKID", "MPI_LOCALNRANKS"},
    {"Slurm", "SLURM_PROCID", {"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"}, "SLURM_LOCALID", nullptr},
};

int to_number(const char* name, const char* text) {
  int number = 0;
  const char* end = text + std::strlen(text);
  const auto [stop, error] = std::from_chars(text, end, number);
  if (error != std::errc() || stop != end || number < 0) throw Failure(std::string(name) + "='" + text + "' is not a number from 0");
  return number;
}

const char* size_variable(const Launcher& launcher, const Environment& environment) {
  for (const char* name : launcher.size) {
    if (name && environment.get(name)) return name;
  }
  return nullptr;
}

// Slurm may offer PMI beside its own variables, which say more.
bool is_slurms_pmi(const Environment& environment) {
  const char *pmi = environment.get("PMI_JOBID"), *job = environment.get("SLURM_JOB_ID"), *step = environment.get("SLURM_STEP_ID");
  return pmi && job && step && pmi == std::string(job) + "." + step;
}

bool is_present(const Launcher& launcher, const Environment& environment) {
  if (std::strcmp(launcher.name, "PMI") == 0 && is_slurms_pmi(environment)) return false;
  return environment.get(launcher.rank) && size_variable(launcher, environment);
}

// Slurm tells tasks per node as "2(x3),1": entry SLURM_NODEID of the expanded list.
std::optional<int> slurm_local_size(const Environment& environment) {
  const char* list = environment.get("SLURM_STEP_TASKS_PER_NODE");
  const char* node_text = environment.get("SLURM_NODEID");
  if (!list || !node_text) return std::nullopt;
  int node = to_number("SLURM_NODEID", node_text);
  while (*list) {
    int tasks = 0, repeat = 1, length = 0;
    if (std::sscanf(list, "%d%n", &tasks, &length) != 1) return std::nullopt;
    list += length;
    if (std::sscanf(list, "(x%d)%n", &repeat, &length) == 1) list += length;
    if (node < repeat) return tasks;
    node -= repeat;
    if (*list == ',') ++list;
  }
  return std::nullopt;
}

void set_number(Environment& environment, std::initializer_list<const char*> names, int number) {
  for (const char* name : names) environment.set(name, std::to_string(number));
}

void warn_of_others(const Launcher& chosen, int rank, int size, const Environment& environment) {
  for (const Launcher& other : kLaunchers) {
    if (&other == &chosen || !is_present(other, environment)) continue;
    const char* name = size_variable(other, environment);
    const char *other_rank = environment.get(other.rank), *other_size = environment.get(name);
    if (std::to_string(rank) == other_rank && std::to_string(size) == other_size) continue;
    std::fprintf(stderr, "smddprun: warning: rank %d of %d is taken from %s; %s=%s and %s=%s are ignored\n", rank, size, chosen.name,
                 other.rank, other_rank, name, other_size);
  }
}

}  // namespace

bool translate_launcher(Environment& environment) {
  for (const Launcher& launcher : kLaunchers) {
    if (!is_present(launcher, environment)) continue;
    const char* size_name = size_variable(launcher, environment);
    const int rank = to_number(launcher.rank, environment.get(launcher.rank));
    const int size = to_number(size_name, environment.get(size_name));
    if (size < 1 || rank >= size) {
      throw Failure(std::string(launcher.rank) + "=" + std::to_string(rank) + " does not fit " + size_name + "=" + std::to_string(size));
    }
    std::optional<int> local_rank, local_size;
    if (const char* text = environment.get(launcher.local_rank)) local_rank = to_number(launcher.local_rank, text);
    const char* local_text = launcher.local_size ? environment.get(launcher.local_size) : nullptr;
    local_size = local_text ? to_number(launcher.local_size, local_text) : std::optional<int>();
    if (!launcher.local_size) local_size = slurm_local_size(environment);
    warn_of_others(launcher, rank, size, environment);

    set_number(environment, {"RANK", "SMDATAPARALLEL_WORLD_RANK"}, rank);
    set_number(environment, {"WORLD_SIZE", "SMDATAPARALLEL_WORLD_SIZE"}, size);
    if (local_rank) set_number(environment, {"LOCAL_RANK", "SMDATAPARALLEL_LOCAL_RANK"}, *local_rank);
    if (local_size) set_number(environment, {"LOCAL_WORLD_SIZE"}, *local_size);
    return true;
  }
  return false;
}

}  // namespace smddprun
