// Test data whose every element depends on rank, index and repetition, and what collectives make of it.
// Invariant: every expected result is exact in its dtype whatever the order of summation, so results are compared bit by bit.
#pragma once

#include <smddp/smddp.h>

#include <cstddef>
#include <cstdint>

namespace smddp_bench {

struct Pattern {
  smddp_dtype_t dtype;
  bool reduces;        // false: any bits will do
  smddp_op_t op;       // if it reduces
  int size;            // ranks of the communicator
  uint64_t repetition;
};

constexpr int kAllRanks = -1;

// Writes elements first … first + count − 1 of what rank contributes.
void fill(const Pattern& pattern, int rank, size_t first, size_t count, void* data);

// Number of elements that differ from elements first … of what rank contributes, or, for kAllRanks, of the reduction over all ranks.
int64_t count_wrong(const Pattern& pattern, int rank, size_t first, size_t count, const void* data);

// Whether op can be applied to dtype.
bool is_allowed(smddp_op_t op, smddp_dtype_t dtype);

}  // namespace smddp_bench
