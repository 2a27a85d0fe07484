// Logical operations on bytes, 0 or not 0; results are 0 or 1, also of a single source.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "reduce/bools.cpp"
#include "reduce/targets.hpp"

#include <hwy/foreach_target.h>

#include "reduce/driver_inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace smddp::reduce {
namespace HWY_NAMESPACE {

// Unsigned bytes: the smaller of a byte and 1 is its truth, the smallest of several is 0 if one is.
struct Logical {
  template <class D, class V>
  HWY_INLINE V first(D, V v) const { return v; }
  template <class D, class V>
  HWY_INLINE V last(D d, V v) const { return hn::Min(v, hn::Set(d, uint8_t{1})); }
};

struct LogicalOr : Logical {
  template <class D, class V>
  HWY_INLINE V next(D, V x, V v) const { return hn::Or(x, v); }
};

struct LogicalAnd : Logical {
  template <class D, class V>
  HWY_INLINE V next(D, V x, V v) const { return hn::Min(x, v); }
};

struct LogicalXor : Logical {
  template <class D, class V>
  HWY_INLINE V first(D d, V v) const { return last(d, v); }
  template <class D, class V>
  HWY_INLINE V next(D d, V x, V v) const { return hn::Xor(x, first(d, v)); }
};

template <class Op>
void logical(const Arguments& a) {
  run<uint8_t>(Op(), a);
}

Kernel find_bool(smddp_op_t op) {
  switch (op) {
    case SMDDP_SUM: case SMDDP_MAX: case SMDDP_BOR: return logical<LogicalOr>;
    case SMDDP_PROD: case SMDDP_MIN: case SMDDP_BAND: return logical<LogicalAnd>;
    case SMDDP_BXOR: return logical<LogicalXor>;
    default: return nullptr;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace smddp::reduce
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace smddp::reduce {
HWY_EXPORT(find_bool);
Kernel bool_kernel(smddp_op_t op) { return HWY_DYNAMIC_DISPATCH(find_bool)(op); }
}  // namespace smddp::reduce
#endif
