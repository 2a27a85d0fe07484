// What smddp_init(NULL, …) would take from the launcher's environment.
#include "api/info.hpp"
#include "base/error.hpp"
#include "bootstrap/bootstrap.hpp"
#include "bootstrap/interfaces.hpp"

namespace smddp::api {
namespace {

constexpr const char* kExchanges[] = {"none", "PMI", "PMIx"};  // by bootstrap::Exchange

// Where others reach this host: an address, or what is wrong with the interface.
void add_reachable(Json& launcher) {
  launcher["reachable_address"] = launcher["reachable_error"] = nullptr;
  try {
    launcher["reachable_address"] = bootstrap::reachable_address().host();
  } catch (const Error& error) {
    launcher["reachable_error"] = error.what();
  }
}

}  // namespace

Json launcher_json() {
  Json launcher;
  try {
    const bootstrap::Placement placement = bootstrap::placement(nullptr);
    launcher = {{"origin", placement.origin},   {"rank", placement.rank},
            {"size", placement.size},       {"servers", placement.servers},
            {"address", placement.address},
            {"port", placement.port},       {"port_count", placement.port_count},
            {"exchange", kExchanges[static_cast<int>(placement.exchange)]},
            {"job_id", placement.job_id},   {"inherited_listener", static_cast<bool>(placement.listener)},
            {"notes", placement.notes},     {"status", status_name(SMDDP_SUCCESS)},
            {"error", nullptr}};
  } catch (const Error& error) {
    launcher = {{"status", status_name(error.code())}, {"error", error.what()}};
  }
  add_reachable(launcher);
  return launcher;
}

std::string launcher_text(const Json& launcher) {
  if (!launcher.at("error").is_null()) {
    return "smddp_init would fail in this environment\n" + field("status", launcher.at("status").get<std::string>()) +
           field("error", launcher.at("error").get<std::string>());
  }
  const auto text = [&](const char* key) { return launcher.at(key).get<std::string>(); };
  const auto number = [&](const char* key) { return launcher.at(key).get<int>(); };
  std::string result = "Launcher: " + text("origin") + "\n";
  result += field("rank", format("%d of %d", number("rank"), number("size")));
  if (number("servers")) result += field("servers", format("%d", number("servers")));
  if (text("exchange") != "none") {
    result += field("address", "made by rank 0, told to the others by " + text("exchange"));
  } else if (number("size") + number("servers") > 1) {
    std::string port = format("%d", number("port"));
    if (number("port_count") > 1) port = format("first free one of %d to %d", number("port"), number("port") + number("port_count") - 1);
    if (launcher.at("inherited_listener").get<bool>()) port += ", listening socket inherited";
    result += field("address", text("address")) + field("port", port);
  }
  result += field("reachable at", text(launcher.at("reachable_address").is_null() ? "reachable_error" : "reachable_address"));
  if (!text("job_id").empty()) result += field("job id", text("job_id"));
  for (const Json& note : launcher.at("notes")) result += field("from", note.get<std::string>());
  return result;
}

}  // namespace smddp::api
