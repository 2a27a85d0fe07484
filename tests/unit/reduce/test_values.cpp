// Rules of the header by plain numbers: integers wrap, integer AVG truncates toward zero, MIN and MAX with NaN and zeros, a single
// source is handed on bit by bit, bool gives 0 or 1.
#include "base/types.hpp"
#include "unit/reduce/call.hpp"
#include "unit/reduce/every_target.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <setjmp.h>
#include <vector>

extern "C" {
#include <cmocka.h>
}

namespace {

using unit::reduce::call;
using unit::reduce::every_target;

template <class T>
bool all_equal(const char* what, const std::vector<T>& got, T expected) {
  for (size_t i = 0; i < got.size(); ++i) {
    if (got[i] == expected) continue;
    std::fprintf(stderr, "%s: count %zu, element %zu is %lld, expected %lld\n", what, got.size(), i, static_cast<long long>(got[i]),
                 static_cast<long long>(expected));
    return false;
  }
  return true;
}

template <class T>
bool sums_to(const char* what, smddp_dtype_t dtype, T a, T b, T expected) {
  for (const size_t count : {1, 8, 31, 33, 1000}) {
    if (!all_equal(what, call<T>(dtype, SMDDP_SUM, {std::vector<T>(count, a), std::vector<T>(count, b)}), expected)) return false;
  }
  return true;
}

void integers_wrap(void**) {
  assert_true(every_target([](const char*) {
    return sums_to<int16_t>("int16", SMDDP_INT16, 16384, 16384, -32768) && sums_to<int8_t>("int8", SMDDP_INT8, 120, 100, -36) &&
           sums_to<uint8_t>("uint8", SMDDP_UINT8, 200, 200, 144) &&
           sums_to<uint16_t>("uint16", SMDDP_UINT16, 65535, 3, 2) &&
           sums_to<int32_t>("int32", SMDDP_INT32, INT32_MAX, 1, INT32_MIN) &&
           sums_to<uint32_t>("uint32", SMDDP_UINT32, UINT32_MAX, 2, 1) &&
           sums_to<int64_t>("int64", SMDDP_INT64, INT64_MIN, -1, INT64_MAX) &&
           sums_to<uint64_t>("uint64", SMDDP_UINT64, UINT64_MAX, 2, 1);
  }));
}

void integer_averages_truncate(void**) {
  assert_true(every_target([](const char*) {
    const auto result = call<int32_t>(SMDDP_INT32, SMDDP_AVG, {{1, 2, -1}, {2, 2, -1}, {2, 3, -2}});
    if (result != std::vector<int32_t>{1, 2, -1}) {
      std::fprintf(stderr, "int32 AVG: %d %d %d, expected 1 2 -1\n", result[0], result[1], result[2]);
      return false;
    }
    return all_equal("int8 AVG of -128", call<int8_t>(SMDDP_INT8, SMDDP_AVG, {{-128}}, 3), int8_t{-42}) &&
           all_equal("uint64 AVG", call<uint64_t>(SMDDP_UINT64, SMDDP_AVG, {{UINT64_MAX - 1}, {1}}), UINT64_MAX / 2) &&
           all_equal("int64 AVG", call<int64_t>(SMDDP_INT64, SMDDP_AVG, {{INT64_MIN}, {0}, {1}}), (INT64_MIN + 1) / 3) &&
           all_equal("int32 AVG of INT32_MIN", call<int32_t>(SMDDP_INT32, SMDDP_AVG, {{INT32_MIN}}, INT32_MAX), int32_t{-1});
  }));
}

// All quotients of the 32-bit types near multiples of the divisor: where a rounded reciprocal would be off by one.
void integer_division_is_exact(void**) {
  assert_true(every_target([](const char*) {
    for (const int divisor : {2, 3, 5, 7, 11, 641, 65535, 65537, 1 << 30, INT32_MAX - 1, INT32_MAX}) {
      std::vector<uint32_t> sums;
      for (uint64_t multiple = 0; multiple <= UINT32_MAX; multiple += uint64_t(divisor) * (1 + UINT32_MAX / uint64_t(divisor) / 500)) {
        for (const int step : {-1, 0, 1}) sums.push_back(static_cast<uint32_t>(multiple + static_cast<uint64_t>(step)));
      }
      const auto result = call<uint32_t>(SMDDP_UINT32, SMDDP_AVG, {sums}, divisor);
      for (size_t i = 0; i < sums.size(); ++i) {
        if (result[i] == sums[i] / static_cast<uint32_t>(divisor)) continue;
        std::fprintf(stderr, "%u / %d = %u?\n", sums[i], divisor, result[i]);
        return false;
      }
    }
    return true;
  }));
}

// MIN and MAX of {1, NaN, 3, 4} in every order, then zeros; one, nan: bits of the type.
template <class T>
bool extremes(smddp_dtype_t dtype, T one, T three, T four, T nan, T plus_zero) {
  const T minus_zero = static_cast<T>(T{1} << (8 * sizeof(T) - 1));
  const T signs[] = {0, minus_zero};
  for (const T sign : signs) {
    std::vector<T> order{one, static_cast<T>(nan | sign), three, four};
    std::sort(order.begin(), order.end());
    do {
      std::vector<std::vector<T>> sources;
      for (const T value : order) sources.emplace_back(37, value);
      for (const smddp_op_t op : {SMDDP_MIN, SMDDP_MAX}) {
        if (!all_equal("NaN in MIN or MAX", call<T>(dtype, op, sources), nan)) return false;
      }
    } while (std::next_permutation(order.begin(), order.end()));
  }
  const std::vector<T> plus(37, plus_zero), minus(37, minus_zero);
  return all_equal("MIN of +0, -0", call<T>(dtype, SMDDP_MIN, {plus, minus}), minus_zero) &&
         all_equal("MIN of -0, +0", call<T>(dtype, SMDDP_MIN, {minus, plus}), minus_zero) &&
         all_equal("MAX of +0, -0", call<T>(dtype, SMDDP_MAX, {plus, minus}), plus_zero) &&
         all_equal("MAX of -0, +0", call<T>(dtype, SMDDP_MAX, {minus, plus}), plus_zero) &&
         all_equal("all NaN", call<T>(dtype, SMDDP_MAX, {std::vector<T>(37, nan), std::vector<T>(37, nan)}), nan) &&
         all_equal("MIN of 3, 1", call<T>(dtype, SMDDP_MIN, {std::vector<T>(37, three), std::vector<T>(37, one)}), one) &&
         all_equal("MAX of -4, -0", call<T>(dtype, SMDDP_MAX, {std::vector<T>(37, four | minus_zero), minus}), minus_zero);
}

void extremes_of_nan_and_zero(void**) {
  assert_true(every_target([](const char*) {
    return extremes<uint16_t>(SMDDP_FLOAT16, 0x3C00, 0x4200, 0x4400, 0x7E00, 0) &&
           extremes<uint16_t>(SMDDP_BFLOAT16, 0x3F80, 0x4040, 0x4080, 0x7FC0, 0) &&
           extremes<uint32_t>(SMDDP_FLOAT32, 0x3F800000, 0x40400000, 0x40800000, 0x7FC00000, 0) &&
           extremes<uint64_t>(SMDDP_FLOAT64, std::bit_cast<uint64_t>(1.0), std::bit_cast<uint64_t>(3.0), std::bit_cast<uint64_t>(4.0),
                              0x7FF8000000000000, 0);
  }));
}

// One rank alone: every element is written, as it is, and nothing after it.
void one_source_is_handed_on(void**) {
  assert_true(every_target([](const char* target) {
    for (const size_t count : {1, 7, 8, 31, 33, 1023, 1000003}) {
      for (const smddp_dtype_t dtype : {SMDDP_BFLOAT16, SMDDP_FLOAT16, SMDDP_FLOAT32, SMDDP_FLOAT64, SMDDP_INT8, SMDDP_INT64}) {
        const size_t bytes = count * smddp::dtype_bytes(dtype);
        std::vector<unsigned char> in(bytes), out(bytes + 64, 0xF9);
        for (size_t i = 0; i < bytes; ++i) in[i] = static_cast<unsigned char>(i * 167 + (i >> 8));
        for (const smddp_op_t op : {SMDDP_SUM, SMDDP_AVG, SMDDP_MIN, SMDDP_MAX, SMDDP_PROD}) {
          const void* sources[] = {in.data()};
          smddp::reduce::Arguments arguments{{out.data(), nullptr}, sources, 1, count, 1, true, false};
          smddp::reduce::kernel(dtype, op)(arguments);
          const bool same = std::memcmp(in.data(), out.data(), bytes) == 0;
          const bool guard = std::all_of(out.begin() + static_cast<long>(bytes), out.end(), [](unsigned char c) { return c == 0xF9; });
          if (!same || !guard) {
            std::fprintf(stderr, "%s %s of one source, count %zu: %s (%s)\n", smddp::dtype_name(dtype), smddp::op_name(op), count,
                         same ? "guard overwritten" : "differs from the source", target);
            return false;
          }
          std::fill(out.begin(), out.end(), static_cast<unsigned char>(0xF9));
        }
      }
    }
    return true;
  }));
}

void bools_are_zero_or_one(void**) {
  assert_true(every_target([](const char*) {
    const std::vector<uint8_t> zero(100, 0), two(100, 2), odd(100, 255);
    return all_equal("or", call<uint8_t>(SMDDP_BOOL, SMDDP_SUM, {zero, two}), uint8_t{1}) &&
           all_equal("and", call<uint8_t>(SMDDP_BOOL, SMDDP_PROD, {two, odd}), uint8_t{1}) &&
           all_equal("and with disjoint bits", call<uint8_t>(SMDDP_BOOL, SMDDP_BAND, {two, std::vector<uint8_t>(100, 1)}), uint8_t{1}) &&
           all_equal("xor", call<uint8_t>(SMDDP_BOOL, SMDDP_BXOR, {two, odd}), uint8_t{0}) &&
           all_equal("xor of three", call<uint8_t>(SMDDP_BOOL, SMDDP_BXOR, {two, odd, odd}), uint8_t{1}) &&
           all_equal("one source", call<uint8_t>(SMDDP_BOOL, SMDDP_MIN, {odd}), uint8_t{1});
  }));
}

// Summation is in the order of the sources: (1e8 + 1) − 1e8 + 1 loses the first 1.
void order_of_the_sources(void**) {
  const float values[] = {1e8f, 1, -1e8f, 1};
  assert_true(every_target([&](const char*) {
    std::vector<std::vector<float>> sources;
    for (const float value : values) sources.emplace_back(75, value);
    return all_equal("1e8 + 1 - 1e8 + 1", call<float>(SMDDP_FLOAT32, SMDDP_SUM, sources), 1.0f);
  }));
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(integers_wrap),         cmocka_unit_test(integer_averages_truncate), cmocka_unit_test(integer_division_is_exact),
      cmocka_unit_test(extremes_of_nan_and_zero), cmocka_unit_test(one_source_is_handed_on),  cmocka_unit_test(bools_are_zero_or_one),
      cmocka_unit_test(order_of_the_sources),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
