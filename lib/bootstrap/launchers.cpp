// One row a launcher; the order of the rows is the order in which they count.
#include "bootstrap/launchers.hpp"

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/parameters.hpp"
#include "base/units.hpp"
#include "bootstrap/pmix.hpp"
#include "bootstrap/slurm.hpp"

#include <climits>
#include <cstdlib>
#include <optional>

namespace smddp::bootstrap {
namespace {

struct Launcher {
  const char* origin;
  const char* rank;
  const char* size;
};

constexpr Launcher kLaunchers[] = {
    {"RANK and WORLD_SIZE", "RANK", "WORLD_SIZE"},
    {"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
    {"PMI", "PMI_RANK", "PMI_SIZE"},
    {"Slurm", "SLURM_PROCID", "SLURM_NTASKS"},
};
constexpr const Launcher& kEnvironment = kLaunchers[0];
constexpr const Launcher& kOpenMpi = kLaunchers[1];
constexpr const Launcher& kPmi = kLaunchers[2];
constexpr const Launcher& kSlurm = kLaunchers[3];

std::string text_of(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

// Batch scripts have the variables of a rank without being one; Slurm's own steps have ids from here on.
bool in_slurm_step() {
  constexpr int64_t kFirstSpecialStep = 0xfffffff0;
  int64_t step = 0;
  return parse_integer(std::getenv("SLURM_STEP_ID"), step) && step >= 0 && step < kFirstSpecialStep;
}

std::string slurm_step() { return format("%s.%s", text_of("SLURM_JOB_ID").c_str(), text_of("SLURM_STEP_ID").c_str()); }

bool is_set(const Launcher& launcher) {
  if (&launcher == &kSlurm && !in_slurm_step()) return false;
  // Slurm's own PMI can be begun once, which is left to an MPI library: its ranks meet as all of Slurm do.
  if (&launcher == &kPmi && in_slurm_step() && text_of("PMI_JOBID") == slurm_step()) return false;
  return std::getenv(launcher.rank) || std::getenv(launcher.size);
}

void read(const Launcher& launcher, Launched& result, std::vector<std::string>& notes) {
  const char* rank = read_variable(launcher.rank, notes);
  const char* size = read_variable(launcher.size, notes);
  if (!rank || !size) {
    throw Error(SMDDP_ERR_INVALID_ARGUMENT, format("%s=%s is set but %s is not", rank ? launcher.rank : launcher.size, rank ? rank : size,
                                                   rank ? launcher.size : launcher.rank));
  }
  result.size = static_cast<int>(integer_variable(launcher.size, size, 1, INT_MAX));
  int64_t number = 0;
  if (!parse_integer(rank, number) || number < 0 || number >= result.size) {
    throw Error(SMDDP_ERR_INVALID_ARGUMENT,
                format("%s='%s' is not an integer from 0 to %d (%s=%s)", launcher.rank, rank, result.size - 1, launcher.size, size));
  }
  result.rank = static_cast<int>(number);
}

// Whether the other launcher says the same; else it warns.
bool agrees(const Launcher& used, const Launcher& other, const Launched& result, std::vector<std::string>& notes) {
  int64_t rank = 0, size = 0;
  if (!parse_integer(std::getenv(other.rank), rank) || !parse_integer(std::getenv(other.size), size)) return false;
  if (rank == result.rank && size == result.size) return true;
  const std::string text =
      format("%s=%d, %s=%d and %s=%lld, %s=%lld differ; %s and %s are used", used.rank, result.rank, used.size, result.size, other.rank,
             static_cast<long long>(rank), other.size, static_cast<long long>(size), used.rank, used.size);
  log(Level::kWarn, result.rank, "%s", text.c_str());
  notes.push_back("warning: " + text);
  return false;
}

void describe(const Launcher& launcher, Launched& result) {
  result.origin = launcher.origin;
  if (&launcher == &kEnvironment) {
    result.has_meeting_variables = true;
    if (store_holds_master_port()) result.origin = "torchrun";
    else if (parameter_is_set(parameter::kAddress) && parameter_is_set(parameter::kJobId)) result.origin = "smddprun";
  } else if (&launcher == &kOpenMpi) {
    result.job_id = text_of("PMIX_NAMESPACE");
  } else if (&launcher == &kSlurm) {
    result.job_id = slurm_step();
  }
}

void meet_at_first_host(Launched& result, std::vector<std::string>& notes) {
  const char* name = std::getenv("SLURM_STEP_NODELIST") ? "SLURM_STEP_NODELIST" : "SLURM_NODELIST";
  const char* list = read_variable(name, notes);
  if (!list) return;
  result.host = first_host(name, list);
  const char* own = result.rank == 0 ? read_variable("SLURMD_NODENAME", notes) : nullptr;
  if (own && result.host != own) {
    throw Error(SMDDP_ERR_UNSUPPORTED, format("SLURMD_NODENAME=%s has rank 0, but %s=%s begins with %s, where the others would look for it: "
                                              "set MASTER_ADDR and MASTER_PORT to host and port of rank 0 on all ranks",
                                              own, name, list, result.host.c_str()));
  }
  const int64_t job = integer_variable("SLURM_JOB_ID", text_of("SLURM_JOB_ID").c_str(), 0, UINT32_MAX);
  const int64_t step = integer_variable("SLURM_STEP_ID", text_of("SLURM_STEP_ID").c_str(), 0, UINT32_MAX);
  result.port = slurm_port(job, step);
  result.port_count = kPortsToTry;
  if (result.job_id.empty()) result.job_id = slurm_step();
}

// What the launcher offers for finding rank 0.
void add_way(const Launcher& launcher, Launched& result, std::vector<std::string>& notes) {
  if (result.exchange != Exchange::kNone || !result.host.empty()) return;
  if (&launcher == &kPmi && read_variable("PMI_FD", notes)) result.exchange = Exchange::kPmi;
  if (&launcher == &kOpenMpi && pmix_is_built_in() && read_variable("PMIX_NAMESPACE", notes)) result.exchange = Exchange::kPmix;
  if (&launcher == &kSlurm) meet_at_first_host(result, notes);
}

}  // namespace

const char* read_variable(const char* name, std::vector<std::string>& notes) {
  const char* value = std::getenv(name);
  if (value) notes.push_back(format("%s=%s", name, value));
  return value;
}

int64_t integer_variable(const char* name, const char* value, int64_t minimum, int64_t maximum) {
  int64_t number = 0;
  if (!parse_integer(value, number) || number < minimum || number > maximum) {
    throw Error(SMDDP_ERR_INVALID_ARGUMENT, format("%s='%s' is not an integer from %lld to %lld", name, value,
                                                   static_cast<long long>(minimum), static_cast<long long>(maximum)));
  }
  return number;
}

bool store_holds_master_port() { return std::getenv("TORCHELASTIC_RUN_ID") != nullptr; }

std::string torchrun_job_id() {
  if (!store_holds_master_port()) return "";
  // The run id is "none" for every launch that gives none, so the port tells neighbours on one host apart.
  return format("%s.%s.%s", text_of("TORCHELASTIC_RUN_ID").c_str(), text_of("TORCHELASTIC_RESTART_COUNT").c_str(),
                text_of("MASTER_PORT").c_str());
}

Launched launched(std::vector<std::string>& notes) {
  Launched result;
  const Launcher* used = nullptr;
  for (const Launcher& launcher : kLaunchers) {
    if (!is_set(launcher)) continue;
    if (used) {
      if (agrees(*used, launcher, result, notes)) add_way(launcher, result, notes);
      continue;
    }
    used = &launcher;
    read(launcher, result, notes);
    describe(launcher, result);
    add_way(launcher, result, notes);
  }
  return result;
}

}  // namespace smddp::bootstrap
