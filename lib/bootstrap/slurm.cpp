#include "bootstrap/slurm.hpp"

#include "base/error.hpp"

namespace smddp::bootstrap {
namespace {

// Below the ports that the kernel gives to connections. Neighbouring steps get different ones.
constexpr int kFirstPort = 20000, kPlaces = 1500, kStepsOfJob = 16;

}  // namespace

std::string first_host(const char* name, const std::string& list) {
  const auto wrong = [&](const char* why) {
    return Error(SMDDP_ERR_INVALID_ARGUMENT, format("%s='%s' is not a list of hosts as Slurm writes it: %s", name, list.c_str(), why));
  };
  std::string host;
  for (size_t i = 0; i < list.size() && list[i] != ','; ++i) {
    if (list[i] == ']') throw wrong("']' without '['");
    if (list[i] != '[') {
      host += list[i];
      continue;
    }
    const size_t end = list.find(']', i);
    if (end == std::string::npos) throw wrong("'[' without ']'");
    const std::string first = list.substr(i + 1, list.find_first_of(",-]", i) - i - 1);
    if (first.empty() || first.find_first_not_of("0123456789") != std::string::npos) throw wrong("no number after '['");
    host += first;
    i = end;
  }
  if (host.empty()) throw wrong("it begins with no host");
  return host;
}

int slurm_port(int64_t job, int64_t step) {
  const uint64_t place = (static_cast<uint64_t>(job) * kStepsOfJob + static_cast<uint64_t>(step)) % kPlaces;
  return kFirstPort + static_cast<int>(place) * kPortsToTry;
}

}  // namespace smddp::bootstrap
