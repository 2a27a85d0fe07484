// Times of one call. Invariant: no clock is read and nothing is synchronised between the calls of a batch.
#pragma once

#include "collective.hpp"

#include <cstdint>

namespace smddp_bench {

struct Timing {
  double median_us = 0;  // of a call, the maximum over the ranks
  double minimum_us = 0;
  int64_t iterations = 0;
  int64_t batch = 1;  // of this rank
};

// Runs warmup and then timed calls; iterations 0: as many as fit the usual time. Collective. Ends the process if a call fails.
Timing measure(const Call& call, int64_t warmup, int64_t iterations);

// Collective: value becomes the maximum, or the sum, over all ranks.
double maximum_over_ranks(double value, smddp_comm_t comm);
int64_t sum_over_ranks(int64_t value, smddp_comm_t comm);

}  // namespace smddp_bench
