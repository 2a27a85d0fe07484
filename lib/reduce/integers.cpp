// Integer kernels but AVG: two's complement throughout, therefore one kernel serves signed and unsigned where the bits agree.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "reduce/integers.cpp"
#include "reduce/targets.hpp"

#include <hwy/foreach_target.h>

#include "reduce/driver_inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace smddp::reduce {
namespace HWY_NAMESPACE {

struct Identity {
  template <class D, class V>
  HWY_INLINE V first(D, V v) const { return v; }
  template <class D, class V>
  HWY_INLINE V last(D, V v) const { return v; }
};

struct Sum : Identity {
  template <class D, class V>
  HWY_INLINE V next(D, V x, V v) const { return hn::Add(x, v); }
};

struct Minimum : Identity {
  template <class D, class V>
  HWY_INLINE V next(D, V x, V v) const { return hn::Min(x, v); }
};

struct Maximum : Identity {
  template <class D, class V>
  HWY_INLINE V next(D, V x, V v) const { return hn::Max(x, v); }
};

struct BitAnd : Identity {
  template <class D, class V>
  HWY_INLINE V next(D, V x, V v) const { return hn::And(x, v); }
};

struct BitOr : Identity {
  template <class D, class V>
  HWY_INLINE V next(D, V x, V v) const { return hn::Or(x, v); }
};

struct BitXor : Identity {
  template <class D, class V>
  HWY_INLINE V next(D, V x, V v) const { return hn::Xor(x, v); }
};

struct Product : Identity {
  template <class D, class V>
  HWY_INLINE V next(D d, V x, V v) const {
    if constexpr (sizeof(hn::TFromD<D>) > 1) {
      return hn::Mul(x, v);
    } else if constexpr (is_vector(D())) {
      // No SIMD set multiplies bytes: even and odd bytes as 16-bit products whose upper halves are dropped.
      const hn::Repartition<uint16_t, D> wide;
      const auto a = hn::BitCast(wide, x), b = hn::BitCast(wide, v), low = hn::Set(wide, 0x00FF);
      const auto even = hn::And(hn::Mul(a, b), low);
      const auto odd = hn::Mul(hn::AndNot(low, a), hn::ShiftRight<8>(b));
      return hn::BitCast(d, hn::Or(even, odd));
    } else {
      const hn::Rebind<uint16_t, D> wide;
      const auto product = hn::And(hn::Mul(hn::PromoteTo(wide, x), hn::PromoteTo(wide, v)), hn::Set(wide, 0x00FF));
      return hn::DemoteTo(d, hn::BitCast(hn::RebindToSigned<decltype(wide)>(), product));
    }
  }
};

template <class T, class Op>
void integer(const Arguments& a) {
  run<T>(Op(), a);
}

// U: the unsigned type of the same width.
template <class T, class U>
Kernel find(smddp_op_t op) {
  switch (op) {
    case SMDDP_SUM: return integer<U, Sum>;
    case SMDDP_PROD: return integer<U, Product>;
    case SMDDP_MIN: return integer<T, Minimum>;
    case SMDDP_MAX: return integer<T, Maximum>;
    case SMDDP_BAND: return integer<U, BitAnd>;
    case SMDDP_BOR: return integer<U, BitOr>;
    case SMDDP_BXOR: return integer<U, BitXor>;
    default: return nullptr;
  }
}

Kernel find_integer(smddp_dtype_t dtype, smddp_op_t op) {
  switch (dtype) {
    case SMDDP_INT8: return find<int8_t, uint8_t>(op);
    case SMDDP_UINT8: return find<uint8_t, uint8_t>(op);
    case SMDDP_INT16: return find<int16_t, uint16_t>(op);
    case SMDDP_UINT16: return find<uint16_t, uint16_t>(op);
    case SMDDP_INT32: return find<int32_t, uint32_t>(op);
    case SMDDP_UINT32: return find<uint32_t, uint32_t>(op);
    case SMDDP_INT64: return find<int64_t, uint64_t>(op);
    case SMDDP_UINT64: return find<uint64_t, uint64_t>(op);
    default: return nullptr;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace smddp::reduce
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace smddp::reduce {
HWY_EXPORT(find_integer);
Kernel integer_kernel(smddp_dtype_t dtype, smddp_op_t op) { return HWY_DYNAMIC_DISPATCH(find_integer)(dtype, op); }
}  // namespace smddp::reduce
#endif
