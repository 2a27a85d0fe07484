// Where the ranks of a Slurm step meet: on its first host, at a port that job and step give. Invariant: all tasks of a step find the same.
#pragma once

#include <cstdint>
#include <string>

namespace smddp::bootstrap {

// The first of a list of hosts as Slurm writes it: "linux[1,3-5]" has linux1, "a[01-03]b,c" has a01b. name: of the variable, for the
// error. Throws INVALID_ARGUMENT.
std::string first_host(const char* name, const std::string& list);

// How many ports rank 0 tries where the first was not given to this job alone.
constexpr int kPortsToTry = 8;

// The first of them.
int slurm_port(int64_t job, int64_t step);

}  // namespace smddp::bootstrap
