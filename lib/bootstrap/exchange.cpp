#include "bootstrap/exchange.hpp"

#include "base/error.hpp"
#include "bootstrap/bytes.hpp"
#include "bootstrap/pmi.hpp"
#include "bootstrap/pmix.hpp"
#include "bootstrap/unique_id.hpp"

#include <mutex>
#include <optional>

namespace smddp::bootstrap {
namespace {

constexpr char kPlace = 'i', kFailure = 'e';
constexpr size_t kMostSentence = 400;  // twice that as text, which fits what any launcher carries

std::mutex g_mutex;  // a launcher's connection belongs to the process
int g_round = 0;     // contexts of this process that have met this way

std::string carry(const Placement& placement, const std::string& value, int64_t deadline) {
  const std::string key = format("smddp-%d", g_round++);
  return placement.exchange == Exchange::kPmi ? pmi_exchange(placement, key, value, deadline) : pmix_exchange(placement, key, value, deadline);
}

std::string make_value(smddp_unique_id_t& id, std::optional<Error>& failure) {
  try {
    id = create_unique_id();
    return kPlace + hex({id.bytes, sizeof(id.bytes)});
  } catch (const Error& error) {
    failure = error;
    return kFailure + hex(std::string_view(error.what()).substr(0, kMostSentence));
  }
}

}  // namespace

void exchange_place(Placement& placement, int64_t deadline) {
  const std::lock_guard lock(g_mutex);
  smddp_unique_id_t id{};
  std::optional<Error> failure;
  const std::string own = placement.rank == 0 ? make_value(id, failure) : "";
  const std::string value = carry(placement, own, deadline);
  if (failure) throw *failure;
  if (placement.rank != 0) {
    if (value[0] == kFailure) {
      throw Error(SMDDP_ERR_BOOTSTRAP, "rank 0 has failed before the ranks met: " + unhex(std::string_view(value).substr(1)));
    }
    const std::string bytes = value[0] == kPlace ? unhex(std::string_view(value).substr(1)) : "";
    if (bytes.size() != sizeof(id.bytes)) {
      throw Error(SMDDP_ERR_BOOTSTRAP, format("%s gave rank %d '%.40s' as the place to meet, which no rank 0 has written",
                                              placement.origin.c_str(), placement.rank, value.c_str()));
    }
    std::memcpy(id.bytes, bytes.data(), sizeof(id.bytes));
  }
  const std::string launchers_job = placement.job_id;
  use_unique_id(id, placement);
  if (!launchers_job.empty()) placement.job_id = launchers_job + ", " + placement.job_id;
}

}  // namespace smddp::bootstrap
