// SUM, AVG and PROD of float32 and float64, in their own precision and in the order of the sources.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "reduce/floats.cpp"
#include "reduce/targets.hpp"

#include <hwy/foreach_target.h>

#include "reduce/arithmetic_inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace smddp::reduce {
namespace HWY_NAMESPACE {

template <class Inner>
struct Float {
  Inner inner;
  template <class D, class V>
  HWY_INLINE V first(D, V v) const { return v; }
  template <class D, class V>
  HWY_INLINE V next(D, V x, V v) const { return inner.combine(x, v); }
  template <class D, class V>
  HWY_INLINE V last(D d, V v) const { return inner.finish(d, v); }
};

template <class T, class Inner>
struct FloatRunner {
  static constexpr size_t kElementBytes = sizeof(T);
  static HWY_NOINLINE void run(const Inner& inner, const Arguments& a) { HWY_NAMESPACE::run<T>(Float<Inner>{inner}, a); }
};

template <class Inner>
using Float32 = FloatRunner<float, Inner>;
template <class Inner>
using Float64 = FloatRunner<double, Inner>;

Kernel find_float(smddp_dtype_t dtype, smddp_op_t op) {
  return dtype == SMDDP_FLOAT32 ? find_arithmetic<Float32>(op) : find_arithmetic<Float64>(op);
}

}  // namespace HWY_NAMESPACE
}  // namespace smddp::reduce
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace smddp::reduce {
HWY_EXPORT(find_float);
Kernel float_kernel(smddp_dtype_t dtype, smddp_op_t op) { return HWY_DYNAMIC_DISPATCH(find_float)(dtype, op); }
}  // namespace smddp::reduce
#endif
