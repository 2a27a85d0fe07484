// MIN and MAX of floats, by integers: flipping the lower bits of negative numbers makes the order of the bits that of the numbers,
// −0 before +0, whatever the floating-point mode. A NaN among the sources gives the positive quiet NaN without payload.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "reduce/extremes.cpp"
#include "reduce/targets.hpp"

#include <hwy/foreach_target.h>

#include "reduce/driver_inl.hpp"

#include <limits>

HWY_BEFORE_NAMESPACE();
namespace smddp::reduce {
namespace HWY_NAMESPACE {

template <class V>
struct Ordered {
  V key;        // extreme so far
  V magnitude;  // largest bits without sign: beyond infinity, one was a NaN
};

// T: signed integer of the type's width. kInfinity, kNan: their bits.
template <class T, T kInfinity, T kNan, bool kMaximum>
struct Extreme {
  static constexpr T kLower = std::numeric_limits<T>::max();  // all bits but the sign

  // Its own inverse.
  template <class D, class V>
  HWY_INLINE static V key(D d, V v) { return hn::Xor(v, hn::And(hn::BroadcastSignBit(v), hn::Set(d, kLower))); }

  template <class D, class V>
  HWY_INLINE Ordered<V> first(D d, V v) const { return {key(d, v), hn::And(v, hn::Set(d, kLower))}; }

  template <class D, class V>
  HWY_INLINE Ordered<V> next(D d, Ordered<V> x, V v) const {
    const Ordered<V> y = first(d, v);
    return {kMaximum ? hn::Max(x.key, y.key) : hn::Min(x.key, y.key), hn::Max(x.magnitude, y.magnitude)};
  }

  template <class D, class V>
  HWY_INLINE V last(D d, Ordered<V> x) const {
    return hn::IfThenElse(hn::Gt(x.magnitude, hn::Set(d, kInfinity)), hn::Set(d, kNan), key(d, x.key));
  }
};

template <class T, T kInfinity, T kNan, bool kMaximum>
void extreme(const Arguments& a) {
  if (a.source_count == 1) return pass(a, sizeof(T));
  run<T>(Extreme<T, kInfinity, kNan, kMaximum>(), a);
}

template <class T, T kInfinity, T kNan>
Kernel find(smddp_op_t op) {
  return op == SMDDP_MIN ? extreme<T, kInfinity, kNan, false> : op == SMDDP_MAX ? extreme<T, kInfinity, kNan, true> : nullptr;
}

Kernel find_extreme(smddp_dtype_t dtype, smddp_op_t op) {
  switch (dtype) {
    case SMDDP_FLOAT16: return find<int16_t, 0x7C00, 0x7E00>(op);
    case SMDDP_BFLOAT16: return find<int16_t, 0x7F80, 0x7FC0>(op);
    case SMDDP_FLOAT32: return find<int32_t, 0x7F800000, 0x7FC00000>(op);
    case SMDDP_FLOAT64: return find<int64_t, 0x7FF0000000000000, 0x7FF8000000000000>(op);
    default: return nullptr;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace smddp::reduce
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace smddp::reduce {
HWY_EXPORT(find_extreme);
Kernel extreme_kernel(smddp_dtype_t dtype, smddp_op_t op) { return HWY_DYNAMIC_DISPATCH(find_extreme)(dtype, op); }
}  // namespace smddp::reduce
#endif
