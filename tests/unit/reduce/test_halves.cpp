// float16 and bfloat16: all 65536 bit patterns, spot values, ties, NaN payloads, one rounding of many terms.
#include "unit/reduce/call.hpp"
#include "unit/reduce/every_target.hpp"
#include "unit/reduce/reference.hpp"

#include <algorithm>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <random>
#include <setjmp.h>
#include <vector>

extern "C" {
#include <cmocka.h>
}

namespace {

using unit::reduce::call;
using unit::reduce::every_target;
using unit::reduce::Format;
using unit::reduce::half_from_double;
using unit::reduce::half_to_double;

// Rounding in two steps, first to double, is rounding at once: double has more than twice the digits and two.
bool all_patterns(const char* target, smddp_dtype_t dtype, Format format) {
  std::vector<uint16_t> a(65536);
  std::iota(a.begin(), a.end(), uint16_t{0});
  std::mt19937 random(5);
  for (int round = 0; round < 20; ++round) {
    std::vector<uint16_t> b = a;
    std::shuffle(b.begin(), b.end(), random);
    const auto sums = call<uint16_t>(dtype, SMDDP_SUM, {a, b});
    const auto products = call<uint16_t>(dtype, SMDDP_PROD, {a, b});
    for (size_t i = 0; i < a.size(); ++i) {
      const double x = half_to_double(format, a[i]), y = half_to_double(format, b[i]);
      const uint16_t sum = half_from_double(format, x + y);
      // A product keeps all its digits in float32, but may be a subnormal there.
      const uint16_t product = half_from_double(format, static_cast<double>(static_cast<float>(x) * static_cast<float>(y)));
      if (sums[i] != sum || products[i] != product) {
        std::fprintf(stderr, "0x%04x, 0x%04x: sum 0x%04x (right: 0x%04x), product 0x%04x (0x%04x), %s\n", a[i], b[i], sums[i], sum,
                     products[i], product, target);
        return false;
      }
    }
  }
  return true;
}

void float16_patterns(void**) {
  assert_true(every_target([](const char* target) { return all_patterns(target, SMDDP_FLOAT16, unit::reduce::kFloat16); }));
}

void bfloat16_patterns(void**) {
  assert_true(every_target([](const char* target) { return all_patterns(target, SMDDP_BFLOAT16, unit::reduce::kBfloat16); }));
}

struct Sum {
  const char* what;
  uint16_t a, b, expected;
};

bool all_sums(const char* target, smddp_dtype_t dtype, const std::vector<Sum>& sums) {
  for (const Sum& sum : sums) {
    for (const size_t count : {1, 40}) {
      const auto result = call<uint16_t>(dtype, SMDDP_SUM, {std::vector<uint16_t>(count, sum.a), std::vector<uint16_t>(count, sum.b)});
      for (const uint16_t value : result) {
        if (value == sum.expected) continue;
        std::fprintf(stderr, "%s: 0x%04x, expected 0x%04x, %s\n", sum.what, value, sum.expected, target);
        return false;
      }
    }
  }
  return true;
}

void float16_spot_values(void**) {
  const auto half = [](double x) { return half_from_double(unit::reduce::kFloat16, x); };
  const std::vector<Sum> sums{
      {"2048 + 1", half(2048), half(1), half(2048)},
      {"2050 + 1", half(2050), half(1), half(2052)},
      {"65504 + 15", half(65504), half(15), half(65504)},
      {"65504 + 16", half(65504), half(16), 0x7C00},
      {"2^-24 + 2^-24", 0x0001, 0x0001, 0x0002},
      {"largest subnormal + smallest", 0x03FF, 0x0001, 0x0400},
      {"inf - inf", 0x7C00, 0xFC00, 0x7E00},
      {"-0 + -0", 0x8000, 0x8000, 0x8000},
      {"1 - 1", half(1), half(-1), 0x0000},
      {"signalling NaN + 1", 0x7C01, half(1), 0x7E00},
      {"1 + negative NaN", half(1), 0xFFFF, 0x7E00},
  };
  assert_true(every_target([&](const char* target) { return all_sums(target, SMDDP_FLOAT16, sums); }));
}

void bfloat16_ties_and_nans(void**) {
  const auto half = [](double x) { return half_from_double(unit::reduce::kBfloat16, x); };
  const std::vector<Sum> sums{
      {"256 + 1 (tie, even below)", half(256), half(1), half(256)},
      {"258 + 1 (tie, even above)", half(258), half(1), half(260)},
      {"-258 - 1", half(-258), half(-1), half(-260)},
      {"256 + 1.5", half(256), half(1.5), half(258)},
      {"largest + its half unit", 0x7F7F, 0x7B00, 0x7F80},
      {"largest + less", 0x7F7F, 0x7A80, 0x7F7F},
      {"inf - inf", 0x7F80, 0xFF80, 0x7FC0},
      {"NaN with the lowest payload bit", 0x7F81, half(1), 0x7FC0},
      {"NaN with all payload bits", half(1), 0xFFFF, 0x7FC0},
      {"smallest subnormals", 0x0001, 0x0001, 0x0002},
  };
  assert_true(every_target([&](const char* target) { return all_sums(target, SMDDP_BFLOAT16, sums); }));
}

// 256 + 1 + 1 + 1 in bfloat16: 256 after rounding each step, 260 (tie of 258 and 260 to even) after one rounding of 259.
void rounded_once(void**) {
  const auto half = [](double x) { return std::vector<uint16_t>(19, half_from_double(unit::reduce::kBfloat16, x)); };
  assert_true(every_target([&](const char*) {
    const auto sum = call<uint16_t>(SMDDP_BFLOAT16, SMDDP_SUM, {half(256), half(1), half(1), half(1)});
    const auto average = call<uint16_t>(SMDDP_BFLOAT16, SMDDP_AVG, {half(256), half(1), half(1), half(2)});
    if (sum != half(260)) std::fprintf(stderr, "sum 0x%04x, expected that of 260\n", sum[0]);
    if (average != half(65)) std::fprintf(stderr, "average 0x%04x, expected that of 65\n", average[0]);
    return sum == half(260) && average == half(65);
  }));
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(float16_patterns),       cmocka_unit_test(bfloat16_patterns), cmocka_unit_test(float16_spot_values),
      cmocka_unit_test(bfloat16_ties_and_nans), cmocka_unit_test(rounded_once),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
