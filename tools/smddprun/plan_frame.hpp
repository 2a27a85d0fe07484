// A launch plan on its way to another host. Invariant: what is read is what was written, byte for byte.
#pragma once

#include "spawn.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace smddprun {

// A plan with the memory that it points to.
struct ReceivedPlan {
  LaunchPlan plan;
  std::string folder;
  std::vector<std::string> arguments;
  std::vector<char*> program;
};

std::string pack_plan(const LaunchPlan& plan, const HostShare& there, const std::string& folder);

// Throws Failure for another version's. received must stay where it is.
void unpack_plan(std::string_view body, ReceivedPlan& received);

std::string pack_place(const MeetingPoint& point);
void unpack_place(std::string_view body, MeetingPoint& point);

}  // namespace smddprun
