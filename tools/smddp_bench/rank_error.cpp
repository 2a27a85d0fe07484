#include "rank_error.hpp"

#include "bench_options.hpp"

#include <cstdio>
#include <cstdlib>
#include <string>

namespace smddp_bench {
namespace {

std::string who = "smddp-bench";

}  // namespace

void set_rank_for_messages(int rank) { who = "smddp-bench: rank " + std::to_string(rank); }

void require(smddp_status_t status, const char* call) {
  if (status == SMDDP_SUCCESS) return;
  std::fflush(stdout);
  std::fprintf(stderr, "%s: %s: %s: %s\n", who.c_str(), call, smddp_status_string(status), smddp_last_error());
  // Without the exit handlers: other threads of the library may still run.
  std::_Exit(kCallFailed);
}

}  // namespace smddp_bench
