// Rank and size as launchers put them into the environment. Invariant: a variable that is set is right or an error that names it and
// its value; nothing is skipped silently.
#pragma once

#include "bootstrap/bootstrap.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace smddp::bootstrap {

struct Launched {
  int rank = 0;
  int size = 1;
  std::string origin = "one process";
  std::string job_id;  // as the launcher tells launches apart, may be empty
  bool has_meeting_variables = false;  // the launcher sets MASTER_ADDR and MASTER_PORT itself
  // Where the ranks meet if no variable says it, from the first launcher that agrees on rank and size: by exchange, or a host and ports.
  Exchange exchange = Exchange::kNone;
  std::string host;
  int port = 0, port_count = 1;
};

// The first launcher in the order of placement(). notes: see Placement. Warns where a later launcher says something else.
Launched launched(std::vector<std::string>& notes);

// The launcher's own store listens on MASTER_PORT.
bool store_holds_master_port();

// torchrun's job id, "" under no torchrun.
std::string torchrun_job_id();

// Value of a variable, noted; nullptr if it is not set.
const char* read_variable(const char* name, std::vector<std::string>& notes);

// value of the variable name as an integer from minimum to maximum. Throws INVALID_ARGUMENT.
int64_t integer_variable(const char* name, const char* value, int64_t minimum, int64_t maximum);

}  // namespace smddp::bootstrap
