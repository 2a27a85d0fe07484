// AVG of integers: the wrapped sum, divided toward zero.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "reduce/integer_average.cpp"
#include "reduce/targets.hpp"

#include <hwy/foreach_target.h>

#include "reduce/driver_inl.hpp"

#include <type_traits>

HWY_BEFORE_NAMESPACE();
namespace smddp::reduce {
namespace HWY_NAMESPACE {

// Up to 32 bits a division is one multiplication by 2^64 / divisor, rounded up, which is exact for every such dividend and a divisor
// of 2 or more (Lemire, Kaser, Kurz: Faster remainder by direct computation, 2019).
template <class T>
class Quotient {
 public:
  explicit Quotient(int divisor) : divisor_(static_cast<uint64_t>(divisor)), reciprocal_(UINT64_MAX / divisor_ + 1) {}

  HWY_INLINE T operator()(T sum) const {
    using U = std::make_unsigned_t<T>;
    const bool negative = sum < 0;
    const U magnitude = negative ? static_cast<U>(U{0} - static_cast<U>(sum)) : static_cast<U>(sum);
    const U quotient = static_cast<U>(divide(magnitude));
    return static_cast<T>(negative ? static_cast<U>(U{0} - quotient) : quotient);
  }

 private:
  HWY_INLINE uint64_t divide(uint64_t magnitude) const {
    if constexpr (sizeof(T) == 8) return magnitude / divisor_;
    return static_cast<uint64_t>((static_cast<unsigned __int128>(reciprocal_) * magnitude) >> 64);
  }

  uint64_t divisor_, reciprocal_;
};

struct WrappedSum {
  template <class D, class V>
  HWY_INLINE V first(D, V v) const { return v; }
  template <class D, class V>
  HWY_INLINE V next(D, V x, V v) const { return hn::Add(x, v); }
  template <class D, class V>
  HWY_INLINE V last(D, V v) const { return v; }
};

template <class T>
struct Average : WrappedSum {
  explicit Average(int divisor) : quotient(divisor) {}
  template <class D, class V>
  HWY_INLINE V last(D d, V v) const {
    alignas(64) T lanes[hn::MaxLanes(D())];
    hn::Store(v, d, lanes);
    for (T& lane : lanes) lane = quotient(lane);
    return hn::Load(d, lanes);
  }
  Quotient<T> quotient;
};

template <class T>
void average(const Arguments& a) {
  if (!a.finish || a.divisor == 1) return run<T>(WrappedSum(), a);
  run<T>(Average<T>(a.divisor), a);
}

Kernel find_integer_average(smddp_dtype_t dtype) {
  switch (dtype) {
    case SMDDP_INT8: return average<int8_t>;
    case SMDDP_UINT8: return average<uint8_t>;
    case SMDDP_INT16: return average<int16_t>;
    case SMDDP_UINT16: return average<uint16_t>;
    case SMDDP_INT32: return average<int32_t>;
    case SMDDP_UINT32: return average<uint32_t>;
    case SMDDP_INT64: return average<int64_t>;
    case SMDDP_UINT64: return average<uint64_t>;
    default: return nullptr;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace smddp::reduce
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace smddp::reduce {
HWY_EXPORT(find_integer_average);
Kernel integer_average_kernel(smddp_dtype_t dtype) { return HWY_DYNAMIC_DISPATCH(find_integer_average)(dtype); }
}  // namespace smddp::reduce
#endif
