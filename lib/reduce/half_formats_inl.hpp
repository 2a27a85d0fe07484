// float16 and bfloat16 to float32 and back, with one rounding to nearest even; Highway's own conversions truncate bfloat16 and know
// no NaN in some targets. A whole vector of 16-bit lanes widens to a Pair of float vectors, a piece of one to a single float vector.
// narrow() expects a NaN to be the quiet NaN without payload (arithmetic_inl.hpp).
#if defined(SMDDP_REDUCE_HALF_FORMATS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef SMDDP_REDUCE_HALF_FORMATS_INL
#undef SMDDP_REDUCE_HALF_FORMATS_INL
#else
#define SMDDP_REDUCE_HALF_FORMATS_INL
#endif

#include "reduce/driver_inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace smddp::reduce {
namespace HWY_NAMESPACE {

template <class V>
struct Pair {
  V low, high;
};

// D: 16-bit lanes in all that follows; the lanes of one float vector.
template <class D>
using WideTag = hn::Rebind<float, std::conditional_t<is_vector(D()), hn::Half<D>, D>>;

struct Bfloat16 {
  template <class V32>
  HWY_INLINE static V32 rounded(V32 bits) {
    const hn::DFromV<V32> d;
    const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(d, 1u));
    return hn::Add(bits, hn::Add(odd, hn::Set(d, 0x7FFFu)));
  }

  // The low float vector has the even lanes and the high one the odd lanes: nothing has to cross lanes.
  template <class D, class V>
  HWY_INLINE static auto widen(D, V v) {
    const WideTag<D> df;
    const hn::RebindToUnsigned<WideTag<D>> du;
    if constexpr (is_vector(D())) {
      const auto both = hn::BitCast(du, v);
      return Pair<hn::Vec<WideTag<D>>>{hn::BitCast(df, hn::ShiftLeft<16>(both)),
                                       hn::BitCast(df, hn::And(both, hn::Set(du, 0xFFFF0000u)))};
    } else {
      return hn::BitCast(df, hn::ShiftLeft<16>(hn::PromoteTo(du, v)));
    }
  }

  template <class D, class V>
  HWY_INLINE static hn::Vec<D> narrow(D d, Pair<V> p) {
    const hn::RebindToUnsigned<WideTag<D>> du;
    const auto even = hn::ShiftRight<16>(rounded(hn::BitCast(du, p.low)));
    const auto odd = hn::And(rounded(hn::BitCast(du, p.high)), hn::Set(du, 0xFFFF0000u));
    return hn::BitCast(d, hn::Or(even, odd));
  }

  template <class D, class V>
  HWY_INLINE static hn::Vec<D> narrow(D d, V f) {
    const hn::RebindToUnsigned<WideTag<D>> du;
    const hn::RebindToSigned<WideTag<D>> di;
    return hn::DemoteTo(d, hn::BitCast(di, hn::ShiftRight<16>(rounded(hn::BitCast(du, f)))));
  }
};

struct Float16 {
  template <class D, class V>
  HWY_INLINE static auto widen(D, V v) {
#if HWY_TARGET != HWY_SCALAR
    if constexpr (is_vector(D())) {
      const hn::Half<D> half;
      return Pair<hn::Vec<WideTag<D>>>{widen_lanes(half, hn::LowerHalf(half, v)), widen_lanes(half, hn::UpperHalf(half, v))};
    } else
#endif
    {
      return widen_lanes(D(), v);
    }
  }

#if HWY_TARGET != HWY_SCALAR
  template <class D, class V>
  HWY_INLINE static hn::Vec<D> narrow(D d, Pair<V> p) {
    const hn::Half<D> half;
    return hn::Combine(d, narrow_lanes(half, p.high), narrow_lanes(half, p.low));
  }
#endif

  template <class D, class V>
  HWY_INLINE static hn::Vec<D> narrow(D d, V f) { return narrow_lanes(d, f); }

 private:
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2  // F16C: right for subnormals and NaN, rounds to nearest even whatever the mode
  template <class D, class V>
  HWY_INLINE static auto widen_lanes(D, V v) {
    return hn::PromoteTo(hn::Rebind<float, D>(), hn::BitCast(hn::Rebind<hwy::float16_t, D>(), v));
  }
  template <class D, class V>
  HWY_INLINE static hn::Vec<D> narrow_lanes(D d, V f) {
    return hn::BitCast(d, hn::DemoteTo(hn::Rebind<hwy::float16_t, D>(), f));
  }
#else
  template <class D, class V>
  HWY_INLINE static auto widen_lanes(D, V v) {
    const hn::Rebind<float, D> df;
    const hn::Rebind<uint32_t, D> du;
    const hn::Rebind<int32_t, D> di;
    const auto bits = hn::PromoteTo(du, v);
    const auto sign = hn::ShiftLeft<16>(hn::And(bits, hn::Set(du, 0x8000u)));
    const auto magnitude = hn::BitCast(di, hn::And(bits, hn::Set(du, 0x7FFFu)));
    const auto subnormal = hn::BitCast(di, hn::Mul(hn::ConvertTo(df, magnitude), hn::Set(df, 0x1p-24f)));
    const auto rebias = hn::Set(di, 112 << 23);
    const auto normal = hn::Add(hn::ShiftLeft<13>(magnitude), rebias);
    const auto special = hn::Add(normal, rebias);  // infinity and NaN: the largest exponent of either format
    auto value = hn::IfThenElse(hn::Gt(magnitude, hn::Set(di, 0x7BFF)), special, normal);
    value = hn::IfThenElse(hn::Lt(magnitude, hn::Set(di, 0x0400)), subnormal, value);
    return hn::BitCast(df, hn::Or(hn::BitCast(du, value), sign));
  }
  template <class D, class V>
  HWY_INLINE static hn::Vec<D> narrow_lanes(D d, V f) {
    const hn::Rebind<float, D> df;
    const hn::Rebind<uint32_t, D> du;
    const hn::Rebind<int32_t, D> di;
    const auto bits = hn::BitCast(du, f);
    const auto sign = hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 0x8000u));
    const auto magnitude = hn::BitCast(di, hn::And(bits, hn::Set(du, 0x7FFFFFFFu)));
    // Adding 0.5 makes the unit of the last place 2^-24, that of float16's subnormals, and the addition rounds.
    const auto half = hn::Set(df, 0.5f);
    const auto subnormal = hn::Sub(hn::BitCast(di, hn::Add(hn::BitCast(df, magnitude), half)), hn::BitCast(di, half));
    const auto odd = hn::And(hn::ShiftRight<13>(magnitude), hn::Set(di, 1));
    const auto rounded = hn::ShiftRight<13>(hn::Add(magnitude, hn::Add(odd, hn::Set(di, 0x0FFF))));
    auto value = hn::Sub(rounded, hn::Set(di, 112 << 10));
    value = hn::IfThenElse(hn::Lt(magnitude, hn::Set(di, 0x38800000)), subnormal, value);          // below 2^-14
    value = hn::IfThenElse(hn::Gt(magnitude, hn::Set(di, 0x477FEFFF)), hn::Set(di, 0x7C00), value);  // from 65520
    value = hn::IfThenElse(hn::Gt(magnitude, hn::Set(di, 0x7F800000)), hn::Set(di, 0x7E00), value);
    return hn::DemoteTo(d, hn::Or(value, hn::BitCast(di, sign)));
  }
#endif
};

}  // namespace HWY_NAMESPACE
}  // namespace smddp::reduce
HWY_AFTER_NAMESPACE();

#endif
