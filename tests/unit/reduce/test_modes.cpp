// Callers with flush-to-zero, another rounding direction or traps get the same bits and find their mode unchanged.
#include "base/types.hpp"
#include "reduce/reduce.hpp"
#include "unit/reduce/every_target.hpp"
#include "unit/reduce/reference.hpp"

#include <cfenv>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <setjmp.h>
#include <vector>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

extern "C" {
#include <cmocka.h>
}

namespace {

constexpr size_t kCount = 97;

// Subnormals, numbers whose sum or product is subnormal, inexact sums, overflow.
std::vector<unsigned char> values(smddp_dtype_t dtype, int source) {
  const size_t width = smddp::dtype_bytes(dtype);
  std::vector<unsigned char> bytes(kCount * width);
  for (size_t i = 0; i < kCount; ++i) {
    uint64_t bits = (i * 0x9E3779B97F4A7C15u) ^ (static_cast<uint64_t>(source) << 33);
    if (i % 3 == 0) bits &= ~(uint64_t{0x7F} << (8 * width - 8));  // exponent near zero
    std::memcpy(bytes.data() + i * width, &bits, width);
  }
  return bytes;
}

std::vector<unsigned char> reduced(smddp_dtype_t dtype, smddp_op_t op) {
  const auto a = values(dtype, 1), b = values(dtype, 2), c = values(dtype, 3);
  const void* sources[] = {a.data(), b.data(), c.data()};
  std::vector<unsigned char> result(a.size());
  const smddp::reduce::Arguments arguments{{result.data(), nullptr}, sources, 3, kCount, 3, true, false};
  smddp::reduce::kernel(dtype, op)(arguments);
  return result;
}

// set() changes the mode, get() reads it.
template <class Set, class Get>
bool same_in_mode(const char* mode, const char* target, Set set, Get get) {
  for (const smddp_dtype_t dtype : {SMDDP_FLOAT16, SMDDP_BFLOAT16, SMDDP_FLOAT32, SMDDP_FLOAT64, SMDDP_INT32}) {
    for (const smddp_op_t op : {SMDDP_SUM, SMDDP_AVG, SMDDP_PROD, SMDDP_MIN, SMDDP_MAX}) {
      const auto expected = reduced(dtype, op);
      std::fenv_t before;
      std::fegetenv(&before);
      set();
      const auto mine = get();
      const auto result = reduced(dtype, op);
      const auto after = get();
      std::fesetenv(&before);
      if (result == expected && mine == after) continue;
      std::fprintf(stderr, "%s %s with %s, target %s: %s\n", smddp::dtype_name(dtype), smddp::op_name(op), mode, target,
                   result == expected ? "the caller's mode was changed" : "other bits");
      return false;
    }
  }
  return true;
}

void rounding_direction(void**) {
  assert_true(unit::reduce::every_target([](const char* target) {
    for (const int direction : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
      if (!same_in_mode("directed rounding", target, [=] { std::fesetround(direction); }, [] { return std::fegetround(); })) return false;
    }
    return true;
  }));
}

#if defined(__x86_64__)
void flush_to_zero_and_traps(void**) {
  const auto get = [] { return _mm_getcsr(); };
  assert_true(unit::reduce::every_target([&](const char* target) {
    return same_in_mode("flush to zero and denormals are zero", target, [] { _mm_setcsr(0x9FC0); }, get) &&
           same_in_mode("all exceptions trapped", target, [] { _mm_setcsr(0x0000); }, get);
  }));
}

// Otherwise the test above would prove nothing: the values must tell flushed results apart.
void flushing_would_show(void**) {
  volatile float tiny = 1e-40f;
  const unsigned before = _mm_getcsr();
  _mm_setcsr(0x9FC0);
  volatile float sum = tiny + tiny;
  _mm_setcsr(before);
  assert_true(sum == 0);
  const auto bytes = reduced(SMDDP_FLOAT32, SMDDP_AVG);
  int subnormals = 0;
  for (size_t i = 0; i < kCount; ++i) {
    uint32_t bits;
    std::memcpy(&bits, bytes.data() + 4 * i, 4);
    subnormals += (bits & 0x7F800000) == 0 && (bits & 0x007FFFFF) != 0;
  }
  assert_true(subnormals > 0);
}
#endif

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(rounding_direction),
#if defined(__x86_64__)
      cmocka_unit_test(flush_to_zero_and_traps),
      cmocka_unit_test(flushing_would_show),
#endif
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
