// reduce_n: all sources in one pass. Accumulates in source order, 16-bit floats in float32 with one rounding at the end, and writes
// up to two destinations; the same bits whatever the SIMD target, alignment, or position of an element in the buffer.
#pragma once

#include "base/types.hpp"

#include <cstddef>

namespace smddp::reduce {

struct Arguments {
  void* destinations[2] = {nullptr, nullptr};  // the second may be NULL; each may equal one of the sources, never overlap partly
  const void* const* sources = nullptr;        // source_count buffers of count elements, any alignment
  int source_count = 0;                        // 1 or more
  size_t count = 0;                            // elements
  int divisor = 1;                             // AVG: number of contributions of the whole reduction; ignored by other operations
  bool finish = true;                          // AVG: divide now (false: a partial sum whose owner divides later)
  bool stream = false;                         // write destinations[0] past the cache (non-temporal); a hint
  bool stream_second = false;                  // destinations[1], which must not be NULL, too
};

// Does not allocate, lock or fail. Sets and restores the floating-point mode (callers may have flush-to-zero on).
using Kernel = void (*)(const Arguments& arguments);

// The kernel of a pair; nullptr where the operation is not defined for the type (bitwise on floats, AVG on bool) or either is reserved.
// Chosen for this machine's SIMD at the first call. Any thread.
Kernel kernel(smddp_dtype_t dtype, smddp_op_t op);

// Copies count bytes; stream as above. Used for moving segments so that large results do not evict what is still needed.
void copy(void* destination, const void* source, size_t bytes, bool stream);

// Names of the SIMD targets compiled in and the one that runs here, for smddp-info: "AVX3 (compiled: SSE4 AVX2 AVX3)".
const char* simd_description();

}  // namespace smddp::reduce
