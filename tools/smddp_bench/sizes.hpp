// The rows of a sweep over sizes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace smddp_bench {

struct Sweep {
  uint64_t minimum_bytes, maximum_bytes;
  uint64_t factor;
  uint64_t step_bytes;  // 0: factor counts
};

// Counts of a sweep, rising and each once. unit_bytes: what one element more adds to the size.
std::vector<size_t> counts_of(const Sweep& sweep, uint64_t unit_bytes);

}  // namespace smddp_bench
