// SUM, AVG and PROD of float16 and bfloat16: in float32, in the order of the sources, rounded once.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "reduce/halves.cpp"
#include "reduce/targets.hpp"

#include <hwy/foreach_target.h>

#include "reduce/arithmetic_inl.hpp"
#include "reduce/half_formats_inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace smddp::reduce {
namespace HWY_NAMESPACE {

template <class Format, class Inner>
struct Half {
  Inner inner;

  template <class D, class V>
  HWY_INLINE auto first(D d, V v) const { return Format::widen(d, v); }

  template <class D, class V>
  HWY_INLINE auto next(D d, Pair<hn::Vec<WideTag<D>>> x, V v) const {
    const auto f = Format::widen(d, v);
    return Pair<hn::Vec<WideTag<D>>>{inner.combine(x.low, f.low), inner.combine(x.high, f.high)};
  }
  template <class D, class V>
  HWY_INLINE auto next(D d, hn::Vec<WideTag<D>> x, V v) const { return inner.combine(x, Format::widen(d, v)); }

  template <class D>
  HWY_INLINE auto last(D d, Pair<hn::Vec<WideTag<D>>> x) const {
    const WideTag<D> df;
    return Format::narrow(d, Pair<hn::Vec<WideTag<D>>>{inner.finish(df, x.low), inner.finish(df, x.high)});
  }
  template <class D>
  HWY_INLINE auto last(D d, hn::Vec<WideTag<D>> x) const { return Format::narrow(d, inner.finish(WideTag<D>(), x)); }
};

template <class Format, class Inner>
struct HalfRunner {
  static constexpr size_t kElementBytes = 2;
  static HWY_NOINLINE void run(const Inner& inner, const Arguments& a) {
    HWY_NAMESPACE::run<uint16_t>(Half<Format, Inner>{inner}, a);
  }
};

template <class Inner>
using Float16Runner = HalfRunner<Float16, Inner>;
template <class Inner>
using Bfloat16Runner = HalfRunner<Bfloat16, Inner>;

Kernel find_half(smddp_dtype_t dtype, smddp_op_t op) {
  return dtype == SMDDP_FLOAT16 ? find_arithmetic<Float16Runner>(op) : find_arithmetic<Bfloat16Runner>(op);
}

}  // namespace HWY_NAMESPACE
}  // namespace smddp::reduce
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace smddp::reduce {
HWY_EXPORT(find_half);
Kernel half_kernel(smddp_dtype_t dtype, smddp_op_t op) { return HWY_DYNAMIC_DISPATCH(find_half)(dtype, op); }
}  // namespace smddp::reduce
#endif
