// Float addition and multiplication as the driver's operations, and what AVG does with the sum. A NaN result is always the positive
// quiet NaN with no payload: which of two NaNs an addition returns differs between machines, and the bits must not.
#if defined(SMDDP_REDUCE_ARITHMETIC_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef SMDDP_REDUCE_ARITHMETIC_INL
#undef SMDDP_REDUCE_ARITHMETIC_INL
#else
#define SMDDP_REDUCE_ARITHMETIC_INL
#endif

#include "reduce/driver_inl.hpp"
#include "reduce/float_mode.hpp"

#include <limits>

HWY_BEFORE_NAMESPACE();
namespace smddp::reduce {
namespace HWY_NAMESPACE {

struct Unscaled {
  template <class D, class V>
  HWY_INLINE V apply(D, V v) const { return v; }
};

// For a power of two, whose inverse is exact: the same bits as the division, several times faster.
struct Times {
  double factor;
  template <class D, class V>
  HWY_INLINE V apply(D d, V v) const { return hn::Mul(v, hn::Set(d, static_cast<hn::TFromD<D>>(factor))); }
};

struct Over {
  double divisor;
  template <class D, class V>
  HWY_INLINE V apply(D d, V v) const { return hn::Div(v, hn::Set(d, static_cast<hn::TFromD<D>>(divisor))); }
};

struct Addition {
  template <class V>
  HWY_INLINE V combine(V x, V v) const { return hn::Add(x, v); }
};

struct Multiplication {
  template <class V>
  HWY_INLINE V combine(V x, V v) const { return hn::Mul(x, v); }
};

// combine() for each source, apply() once at the end.
template <class Combine, class Scale>
struct Arithmetic : Combine {
  Scale scale;

  template <class D, class V>
  HWY_INLINE V finish(D d, V v) const {
    const V result = scale.apply(d, v);
    return hn::IfThenElse(hn::IsNaN(result), hn::Set(d, std::numeric_limits<hn::TFromD<D>>::quiet_NaN()), result);
  }
};

// The kernel of one pair of type and operation. Runner<Arithmetic<…>>::run(arithmetic, a) is the loop; it is called, not inlined, so
// that no arithmetic moves across the changes of mode.
template <template <class> class Runner, class Combine, class Scale>
HWY_INLINE void in_default_mode(const Scale& scale, const Arguments& a) {
  using Op = Arithmetic<Combine, Scale>;
  if (HWY_LIKELY(FloatMode::is_default())) return Runner<Op>::run(Op{{}, scale}, a);
  const FloatMode mode;
  Runner<Op>::run(Op{{}, scale}, a);
}

template <template <class> class Runner, class Combine>
void arithmetic(const Arguments& a) {
  if (a.source_count == 1) return pass(a, Runner<Unscaled>::kElementBytes);
  in_default_mode<Runner, Combine>(Unscaled(), a);
}

template <template <class> class Runner>
void average(const Arguments& a) {
  if (!a.finish || a.divisor == 1) return arithmetic<Runner, Addition>(a);
  if ((a.divisor & (a.divisor - 1)) == 0) return in_default_mode<Runner, Addition>(Times{1.0 / a.divisor}, a);
  in_default_mode<Runner, Addition>(Over{static_cast<double>(a.divisor)}, a);
}

template <template <class> class Runner>
Kernel find_arithmetic(smddp_op_t op) {
  switch (op) {
    case SMDDP_SUM: return arithmetic<Runner, Addition>;
    case SMDDP_PROD: return arithmetic<Runner, Multiplication>;
    case SMDDP_AVG: return average<Runner>;
    default: return nullptr;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace smddp::reduce
HWY_AFTER_NAMESPACE();

#endif
