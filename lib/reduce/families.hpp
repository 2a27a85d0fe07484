// The kernels by family of types, for this machine's SIMD target; nullptr where the pair is not defined.
#pragma once

#include "reduce/reduce.hpp"

namespace smddp::reduce {

Kernel integer_kernel(smddp_dtype_t dtype, smddp_op_t op);  // but AVG
Kernel integer_average_kernel(smddp_dtype_t dtype);
Kernel float_kernel(smddp_dtype_t dtype, smddp_op_t op);    // float32 and float64: SUM, AVG, PROD
Kernel half_kernel(smddp_dtype_t dtype, smddp_op_t op);     // float16 and bfloat16: SUM, AVG, PROD
Kernel extreme_kernel(smddp_dtype_t dtype, smddp_op_t op);  // all floats: MIN, MAX
Kernel bool_kernel(smddp_op_t op);

// One source and nothing to compute: its bytes, NaN payloads included, go to the destinations as they are.
inline void pass(const Arguments& a, size_t element_bytes) {
  copy(a.destinations[0], a.sources[0], a.count * element_bytes, a.stream);
  if (a.destinations[1]) copy(a.destinations[1], a.sources[0], a.count * element_bytes, false);
}

}  // namespace smddp::reduce
