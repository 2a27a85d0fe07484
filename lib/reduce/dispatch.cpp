// From type and operation to the kernel, and which SIMD target runs here.
#include "reduce/targets.hpp"

#include "reduce/families.hpp"

#include <hwy/highway.h>

#include <string>

namespace smddp::reduce {

Kernel kernel(smddp_dtype_t dtype, smddp_op_t op) {
  switch (dtype) {
    case SMDDP_INT8: case SMDDP_UINT8: case SMDDP_INT16: case SMDDP_UINT16:
    case SMDDP_INT32: case SMDDP_UINT32: case SMDDP_INT64: case SMDDP_UINT64:
      return op == SMDDP_AVG ? integer_average_kernel(dtype) : integer_kernel(dtype, op);
    case SMDDP_FLOAT16: case SMDDP_BFLOAT16:
      return op == SMDDP_MIN || op == SMDDP_MAX ? extreme_kernel(dtype, op) : half_kernel(dtype, op);
    case SMDDP_FLOAT32: case SMDDP_FLOAT64:
      return op == SMDDP_MIN || op == SMDDP_MAX ? extreme_kernel(dtype, op) : float_kernel(dtype, op);
    case SMDDP_BOOL: return bool_kernel(op);
    default: return nullptr;
  }
}

const char* simd_description() {
  static const std::string text = [] {
    std::string compiled;
    int64_t best = HWY_STATIC_TARGET;
    const int64_t supported = hwy::SupportedTargets();
    for (int bit = 62; bit >= 0; --bit) {  // lower bits are better targets
      const int64_t target = int64_t{1} << bit;
      if (!(HWY_TARGETS & target)) continue;
      compiled += std::string(" ") + hwy::TargetName(target);
      if (supported & target) best = target;
    }
    return std::string(hwy::TargetName(best)) + " (compiled:" + compiled + ")";
  }();
  return text.c_str();
}

}  // namespace smddp::reduce
