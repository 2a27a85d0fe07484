#include "base/parameters.hpp"

#include "base/error.hpp"
#include "base/units.hpp"

#include <cstdlib>
#include <cstring>

namespace smddp {
namespace {

constexpr int64_t kMax = INT64_MAX;

// One row a parameter, in the order of parameter::Id.
constexpr Parameter kTable[parameter::kEnd] = {
    {"SMDDP_BOOTSTRAP_ADDRESS", Unit::kText, "", 0, 0, "", false,
     "Host name or address of rank 0, where the ranks meet. Set by smddprun; else MASTER_ADDR."},
    {"SMDDP_BOOTSTRAP_PORT", Unit::kCount, "0", 0, 65535, "", false,
     "TCP port of rank 0. 0: MASTER_PORT, or the first free one of MASTER_PORT + 1 … + 8 where the launcher's own store listens on it."},
    {"SMDDP_BOOTSTRAP_FD", Unit::kCount, "-1", -1, 1 << 20, "", false,
     "Listening socket that rank 0 inherits from its launcher. Set by smddprun."},
    {"SMDDP_JOB_ID", Unit::kText, "", 0, 0, "", false,
     "Tells apart jobs that meet at one port. Set by smddprun; else made of TORCHELASTIC_RUN_ID, restart count and MASTER_PORT."},
    {"SMDDP_BOOTSTRAP_INTERFACE", Unit::kText, "", 0, 0, "", false,
     "Interface whose address a unique id carries: names or their beginnings, with commas; ^ before them excludes. Empty: the first one up "
     "that is no container bridge."},
    {"SMDDP_NODE_ID", Unit::kText, "", 0, 0, "", false,
     "Ranks with equal ids share memory. Empty: boot id and network namespace."},
    {"SMDDP_TIMEOUT_MS", Unit::kMilliseconds, "1800000", 1, kMax, "", false,
     "Deadline of smddp_init and of every operation that gives none. A dead rank is reported within 5 s whatever it is."},
    {"SMDDP_THREAD_MODE", Unit::kChoice, "owned", 0, 0, "owned|ordered", false,
     "Which threads may call collectives on a communicator: its owner, or any, in an order that the program keeps."},
    {"SMDDP_LOG", Unit::kChoice, "warn", 0, 0, "error|warn|info|debug", false, "Least severe messages that are written to standard error."},
    {"SMDDP_SPIN_US", Unit::kMicroseconds, "-1", -1, 1000000, "", false,
     "How long a waiting thread polls before it yields. -1: 20 with a core for every rank of the node, one poll otherwise."},
    {"SMDDP_YIELD_US", Unit::kMicroseconds, "1500", 0, 10000000, "", false,
     "How long a waiting thread yields its core between polls before it sleeps."},
    {"SMDDP_SEGMENT_BYTES", Unit::kBytes, "0", 0, 1 << 26, "", true,
     "Bytes of one rank's share that move at a time in large operations. 0: chosen by size and number of ranks."},
    {"SMDDP_EAGER_BYTES", Unit::kBytes, "65536", 112, 65536, "", true,
     "Largest contribution of a rank that travels with its entry; 32K at most with 3 or 4 ranks, 16K to 8, 8K beyond."},
    {"SMDDP_STREAM_BYTES", Unit::kBytes, "0", 0, int64_t{1} << 44, "", false,
     "Smallest piece for a peer on the same node that is written past the caches; the node's first rank decides for all. 0: measured at the start."},
    {"SMDDP_HEAP_BYTES", Unit::kBytes, "0", 0, int64_t{1} << 44, "", true,
     "Shared address space of a rank, at least 64M, three quarters of it at most for smddp_alloc. 0: the machine's memory, rounded up to a power of two."},
    {"SMDDP_P2P_BUFFER_BYTES", Unit::kBytes, "268435456", 4096, int64_t{1} << 40, "", false,
     "Bytes that a rank's sends to another one may have in flight before smddp_send waits for that receiver."},
    {"SMDDP_PROGRESS_THREAD", Unit::kChoice, "on", 0, 0, "on|off", false,
     "Whether a thread of the library moves asynchronous operations while the program computes."},
    {"SMDDP_OFI_PROVIDER", Unit::kText, "", 0, 0, "", true,
     "libfabric provider between nodes, as fi_info(1) names it. Empty: the best by capability, of equals one that is not layered over another."},
    {"SMDDP_OFI_INTERFACES", Unit::kText, "", 0, 0, "", false,
     "Interfaces for messages between nodes: names or their beginnings, with commas; ^ before them excludes. Empty: the one over which the "
     "ranks have met, and others of its kind and speed."},
    {"SMDDP_OFI_RAILS", Unit::kCount, "4", 1, 4, "", false,
     "Most networks that the messages of a rank to other nodes are spread over. 1: one network."},
    {"SMDDP_ALGORITHM", Unit::kText, "", 0, 0, "", true,
     "Algorithms between nodes, as allreduce:ring,broadcast:binomial; a name alone is for every collective that has it. Where one does not fit "
     "a communicator, and where all its ranks are on one node, it has no effect. Empty: the cheapest by the figures of the network."},
    {"SMDDP_CALIBRATION", Unit::kText, "on", 0, 0, "", true,
     "Figures of the network, by which algorithms are chosen. on: measured at the start of a job of several nodes, which takes some 30 ms; off: "
     "assumed; or the figures, such as latency_us=20,bytes_per_us=1000, as smddp(7) lists them, those not given being assumed."},
    {"SMDDP_SERVERS", Unit::kCount, "0", 0, 1024, "", true,
     "Processes beside the ranks that reduce for them, which smddp_serve makes of a process; the ranks meet with so many. Set by smddprun --servers."},
    {"SMDDP_SERVER", Unit::kCount, "-1", -1, 1023, "", false,
     "Of a server: its number, from 0 to SMDDP_SERVERS - 1. Set by smddprun --servers."},
};

const char* value_of(const Parameter& parameter) {
  const char* value = std::getenv(parameter.name);
  return value && *value ? value : parameter.default_text;
}

bool is_choice(const Parameter& parameter, const char* value) {
  const size_t length = std::strlen(value);
  for (const char* word = parameter.choices; *word;) {
    const char* end = std::strchr(word, '|');
    const size_t size = end ? static_cast<size_t>(end - word) : std::strlen(word);
    if (size == length && std::strncmp(word, value, size) == 0) return true;
    if (!end) break;
    word = end + 1;
  }
  return false;
}

}  // namespace

const Parameter& parameter_at(int id) { return kTable[id]; }

int64_t parameter_number(parameter::Id id) {
  const Parameter& parameter = kTable[id];
  const char* value = value_of(parameter);
  int64_t number = 0;
  const bool parsed = parameter.unit == Unit::kBytes ? parse_bytes(value, number) : parse_integer(value, number);
  if (!parsed || number < parameter.minimum || number > parameter.maximum) {
    throw Error(SMDDP_ERR_INVALID_ARGUMENT,
                format("%s='%s' is not a number from %lld to %lld", parameter.name, value, static_cast<long long>(parameter.minimum),
                       static_cast<long long>(parameter.maximum)));
  }
  return number;
}

std::string parameter_text(parameter::Id id) {
  const Parameter& parameter = kTable[id];
  const char* value = value_of(parameter);
  if (parameter.unit == Unit::kChoice && !is_choice(parameter, value)) {
    throw Error(SMDDP_ERR_INVALID_ARGUMENT, format("%s='%s' is not one of %s", parameter.name, value, parameter.choices));
  }
  return value;
}

bool parameter_is_set(parameter::Id id) {
  const char* value = std::getenv(kTable[id].name);
  return value && *value;
}

std::string shared_parameters() {
  std::string text;
  for (const Parameter& parameter : kTable) {
    if (parameter.shared) text += format("%s=%s\n", parameter.name, value_of(parameter));
  }
  return text;
}

}  // namespace smddp
