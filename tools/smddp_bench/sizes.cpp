#include "sizes.hpp"

#include <algorithm>

namespace smddp_bench {

std::vector<size_t> counts_of(const Sweep& sweep, uint64_t unit_bytes) {
  std::vector<size_t> counts;
  for (uint64_t bytes = sweep.minimum_bytes;;) {
    const uint64_t count = bytes == 0 ? 0 : std::max<uint64_t>(1, bytes / unit_bytes);
    if (counts.empty() || count > counts.back()) counts.push_back(count);
    uint64_t next;
    if (sweep.step_bytes > 0) {
      if (__builtin_add_overflow(bytes, sweep.step_bytes, &next)) break;
    } else if (bytes == 0) {
      next = 1;
    } else if (__builtin_mul_overflow(bytes, sweep.factor, &next)) {
      break;
    }
    if (next > sweep.maximum_bytes) break;
    bytes = next;
  }
  return counts;
}

}  // namespace smddp_bench
