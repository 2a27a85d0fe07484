// What one member says of a communicator when it is asked, and how that travels.
#pragma once

#include "control/operation_ring.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace smddp::control {

struct Report {
  bool answered = false;
  bool known = false;             // whether it has the communicator: it may not have made it yet, or have freed it
  uint32_t begun = 0, ended = 0;  // its last operation, and how many have ended
  std::vector<Record> records;    // the newest, oldest first
  std::string left;               // of a member that will not answer: why
  std::string death;              // of any member, as this one has heard; "" of none
};

std::string encode(const Report& report);
bool decode(std::string_view bytes, Report& report);

}  // namespace smddp::control
