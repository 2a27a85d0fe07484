// libfabric's providers on this machine: what each can do, how long an exchange takes, and which one a job would take.
#include "api/info.hpp"
#include "base/error.hpp"
#include "base/parameters.hpp"
#include "transport/ofi/probe.hpp"
#include "transport/ofi/provider.hpp"

#include <mutex>

namespace smddp::api {
namespace {

namespace ofi = transport::ofi;

Json look(const std::string& wanted) {
  Json result = {{"wanted", wanted}, {"chosen", nullptr}, {"providers", Json::array()}, {"error", nullptr}};
  try {
    const std::vector<ofi::Candidate> candidates = ofi::candidates(wanted, "");
    if (!candidates.empty() && candidates.front().plan.usable) result["chosen"] = candidates.front().capability.provider;
    else result["error"] = candidates.empty() ? "libfabric offers none" : "libfabric offers none that serves";
    ofi::Options options;
    options.provider = wanted;
    for (const ofi::Measured& one : ofi::measure(options)) {
      const bool measured = one.reason.empty();
      Json entry = {{"name", one.provider}, {"chosen", one.provider == result["chosen"]}, {"usable", one.reason.empty()}};
      entry["path"] = measured ? Json(one.path) : Json();
      entry["exchange_4_us"] = measured ? Json(one.small_us) : Json();
      entry["exchange_65536_us"] = measured ? Json(one.middle_us) : Json();
      entry["wait_descriptor"] = measured ? Json(one.wait_descriptor) : Json();
      entry["reason"] = one.reason.empty() ? Json() : Json(one.reason);
      result["providers"].push_back(entry);
    }
  } catch (const Error& error) {
    result["error"] = error.what();
  }
  return result;
}

}  // namespace

// Once a process for each wish: the text is asked for twice, for its length and for itself.
Json providers_json() {
  static std::mutex mutex;
  static Json known = Json::object();
  const std::string wanted = parameter_text(parameter::kOfiProvider);
  const std::lock_guard<std::mutex> lock(mutex);
  if (!known.contains(wanted)) known[wanted] = look(wanted);
  return known[wanted];
}

std::string providers_text(const Json& providers) {
  std::string text;
  if (!providers.at("error").is_null()) text += field("error", providers.at("error").get<std::string>());
  for (const Json& one : providers.at("providers")) {
    std::string what;
    if (one.at("chosen").get<bool>()) {
      what = providers.at("wanted").get<std::string>().empty() ? "chosen: the best by capability, of equals the first in libfabric's order; "
                                                               : "chosen: SMDDP_OFI_PROVIDER wants it; ";
    }
    if (!one.at("exchange_4_us").is_null()) {
      what += format("4 bytes both ways in %.1f us, 64 KiB in %.1f us; large messages: %s; %s", one.at("exchange_4_us").get<double>(),
                     one.at("exchange_65536_us").get<double>(), one.at("path").get<std::string>().c_str(),
                     one.at("wait_descriptor").get<bool>() ? "wakes sleepers" : "waits by naps");
    }
    if (!one.at("reason").is_null()) what += "not measured: " + one.at("reason").get<std::string>();
    text += field(one.at("name").get<std::string>(), what);
  }
  return text;
}

}  // namespace smddp::api
