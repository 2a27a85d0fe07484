#include "plan_frame.hpp"

#include "exit_status.hpp"
#include "frame.hpp"

#include <smddp/version.h>

namespace smddprun {
namespace {

void pack_list(Packer& packer, const std::vector<std::string>& list) {
  packer.number(static_cast<uint32_t>(list.size()));
  for (const std::string& text : list) packer.text(text);
}

std::vector<std::string> unpack_list(Unpacker& unpacker) {
  std::vector<std::string> list;
  for (auto left = unpacker.number<uint32_t>(); left > 0 && !unpacker.failed(); --left) list.push_back(unpacker.text());
  return list;
}

}  // namespace

std::string pack_plan(const LaunchPlan& plan, const HostShare& there, const std::string& folder) {
  std::vector<std::string> arguments;
  for (char** argument = plan.program; *argument; ++argument) arguments.emplace_back(*argument);
  Packer packer;
  packer.text(SMDDP_VERSION_STRING).number(plan.size).number(plan.servers).number(there.first_rank).number(there.ranks);
  packer.number(there.first_server).number(there.servers).text(folder);
  pack_list(packer, arguments);
  pack_list(packer, plan.environment.entries());
  packer.text(plan.point.job_id).text(pack_place(plan.point));
  return packer.bytes();
}

void unpack_plan(std::string_view body, ReceivedPlan& received) {
  Unpacker unpacker(body);
  const std::string version = unpacker.text();
  if (version != SMDDP_VERSION_STRING) throw Failure("smddprun here is version " SMDDP_VERSION_STRING ", the one that started it " + version);
  LaunchPlan& plan = received.plan;
  plan.size = unpacker.number<int>();
  plan.servers = unpacker.number<int>();
  plan.here.first_rank = unpacker.number<int>();
  plan.here.ranks = unpacker.number<int>();
  plan.here.first_server = unpacker.number<int>();
  plan.here.servers = unpacker.number<int>();
  received.folder = unpacker.text();
  received.arguments = unpack_list(unpacker);
  plan.environment = Environment(unpack_list(unpacker));
  plan.point.job_id = unpacker.text();
  unpack_place(unpacker.text(), plan.point);
  if (unpacker.failed() || plan.here.processes() < 1 || received.arguments.empty()) throw Failure("the plan of the launcher cannot be read");
  for (std::string& argument : received.arguments) received.program.push_back(argument.data());
  received.program.push_back(nullptr);
  plan.program = received.program.data();
}

std::string pack_place(const MeetingPoint& point) {
  return Packer().text(point.address).number(point.bootstrap_port).number(point.master_port).bytes();
}

void unpack_place(std::string_view body, MeetingPoint& point) {
  Unpacker unpacker(body);
  point.address = unpacker.text();
  point.bootstrap_port = unpacker.number<int>();
  point.master_port = unpacker.number<int>();
}

}  // namespace smddprun
