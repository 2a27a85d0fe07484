// The data that smddp-bench checks with: its expected results against a plain reduction of the filled buffers, in any order of
// summation and with rounding to the dtype after every step, and its eye for single, shifted and older elements.
#include "smddp_bench/pattern.hpp"

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

extern "C" {
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
}

using namespace smddp_bench;

namespace {

constexpr size_t kCount = 3000;
constexpr smddp_dtype_t kDtypes[] = {SMDDP_INT8, SMDDP_UINT8, SMDDP_INT16, SMDDP_UINT16, SMDDP_INT32, SMDDP_UINT32, SMDDP_INT64,
                                     SMDDP_UINT64, SMDDP_FLOAT16, SMDDP_BFLOAT16, SMDDP_FLOAT32, SMDDP_FLOAT64, SMDDP_BOOL};
constexpr smddp_op_t kOps[] = {SMDDP_SUM, SMDDP_AVG, SMDDP_PROD, SMDDP_MIN, SMDDP_MAX, SMDDP_BAND, SMDDP_BOR, SMDDP_BXOR};
constexpr int kSizes[] = {1, 2, 3, 4, 7, 8, 17, 100};

float float_of(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

uint32_t bits_of(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

// IEEE binary16, normal numbers and zero; encoding fails the test if the value is not exact.
double decode_half(uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  if ((bits & 0x7FFF) == 0) return bits ? -0.0 : 0.0;
  assert_in_range(exponent, 1, 30);
  const double magnitude = std::ldexp(1024 + (bits & 1023), exponent - 25);
  return bits >> 15 ? -magnitude : magnitude;
}

uint16_t encode_half(double value) {
  if (value == 0) return std::signbit(value) ? 0x8000 : 0;
  int exponent = 0;
  const double fraction = std::frexp(std::fabs(value), &exponent);
  const double mantissa = std::ldexp(fraction, 11);
  assert_true(mantissa == std::floor(mantissa));
  assert_in_range(exponent + 14, 1, 30);
  return static_cast<uint16_t>((value < 0) << 15 | (exponent + 14) << 10 | (static_cast<int>(mantissa) & 1023));
}

uint16_t encode_bfloat(double value) {
  const uint32_t bits = bits_of(static_cast<float>(value));
  assert_int_equal(bits & 0xFFFF, 0);
  return static_cast<uint16_t>(bits >> 16);
}

template <typename T>
T at(const std::vector<char>& data, size_t i) {
  T value;
  std::memcpy(&value, data.data() + i * sizeof(T), sizeof value);
  return value;
}

template <typename T>
void put(std::vector<char>& data, size_t i, T value) {
  std::memcpy(data.data() + i * sizeof(T), &value, sizeof value);
}

double apply(smddp_op_t op, double a, double b) {
  switch (op) {
    case SMDDP_PROD: return a * b;
    case SMDDP_MIN: return a < b ? a : b;
    case SMDDP_MAX: return a < b ? b : a;
    default: return a + b;
  }
}

template <typename T>
T apply_integer(smddp_op_t op, T a, T b) {
  const auto ua = static_cast<unsigned __int128>(a), ub = static_cast<unsigned __int128>(b);
  switch (op) {
    case SMDDP_PROD: return static_cast<T>(ua * ub);
    case SMDDP_MIN: return a < b ? a : b;
    case SMDDP_MAX: return a < b ? b : a;
    case SMDDP_BAND: return static_cast<T>(a & b);
    case SMDDP_BOR: return static_cast<T>(a | b);
    case SMDDP_BXOR: return static_cast<T>(a ^ b);
    default: return static_cast<T>(ua + ub);
  }
}

// Reduces element i of the inputs, visited in the given order.
template <typename T, typename Decode, typename Encode>
void reduce_floats(const Pattern& p, const std::vector<std::vector<char>>& in, const std::vector<int>& order, std::vector<char>& out,
                   Decode decode, Encode encode) {
  const bool wide = p.dtype == SMDDP_FLOAT64;
  for (size_t i = 0; i < kCount; ++i) {
    double value = decode(at<T>(in[order[0]], i));
    for (size_t r = 1; r < order.size(); ++r) {
      value = apply(p.op, value, decode(at<T>(in[order[r]], i)));
      // The sum of an average needs an accumulator of float32; all else fits the dtype after every step.
      if (p.op == SMDDP_AVG && !wide) assert_true(static_cast<float>(value) == value);
      if (p.op != SMDDP_AVG) value = decode(encode(value));
    }
    if (p.op == SMDDP_AVG) value = wide ? value / p.size : static_cast<double>(static_cast<float>(value) / static_cast<float>(p.size));
    put<T>(out, i, encode(value));
  }
}

template <typename T>
void reduce_integers(const Pattern& p, const std::vector<std::vector<char>>& in, const std::vector<int>& order, std::vector<char>& out) {
  for (size_t i = 0; i < kCount; ++i) {
    T value = at<T>(in[order[0]], i);
    __int128 exact = value;
    for (size_t r = 1; r < order.size(); ++r) {
      value = apply_integer<T>(p.op, value, at<T>(in[order[r]], i));
      exact += at<T>(in[order[r]], i);
    }
    if (p.op == SMDDP_AVG) {
      assert_true(exact == value);
      value = static_cast<T>(exact / p.size);
    }
    put<T>(out, i, value);
  }
}

void reduce_bools(const Pattern& p, const std::vector<std::vector<char>>& in, std::vector<char>& out) {
  for (size_t i = 0; i < kCount; ++i) {
    int ones = 0;
    for (const auto& data : in) ones += data[i] != 0;
    const bool any = p.op == SMDDP_SUM || p.op == SMDDP_MAX || p.op == SMDDP_BOR;
    out[i] = p.op == SMDDP_BXOR ? ones % 2 : any ? ones > 0 : ones == p.size;
  }
}

void reduce(const Pattern& p, const std::vector<std::vector<char>>& in, const std::vector<int>& order, std::vector<char>& out) {
  switch (p.dtype) {
    case SMDDP_INT8: return reduce_integers<int8_t>(p, in, order, out);
    case SMDDP_UINT8: return reduce_integers<uint8_t>(p, in, order, out);
    case SMDDP_INT16: return reduce_integers<int16_t>(p, in, order, out);
    case SMDDP_UINT16: return reduce_integers<uint16_t>(p, in, order, out);
    case SMDDP_INT32: return reduce_integers<int32_t>(p, in, order, out);
    case SMDDP_UINT32: return reduce_integers<uint32_t>(p, in, order, out);
    case SMDDP_INT64: return reduce_integers<int64_t>(p, in, order, out);
    case SMDDP_UINT64: return reduce_integers<uint64_t>(p, in, order, out);
    case SMDDP_FLOAT16: return reduce_floats<uint16_t>(p, in, order, out, decode_half, encode_half);
    case SMDDP_BFLOAT16:
      return reduce_floats<uint16_t>(p, in, order, out, [](uint16_t b) { return double{float_of(uint32_t{b} << 16)}; }, encode_bfloat);
    case SMDDP_FLOAT32:
      return reduce_floats<float>(p, in, order, out, [](float v) { return double{v}; }, [](double v) {
        assert_true(static_cast<float>(v) == v);
        return static_cast<float>(v);
      });
    case SMDDP_FLOAT64: return reduce_floats<double>(p, in, order, out, [](double v) { return v; }, [](double v) { return v; });
    default: return reduce_bools(p, in, out);
  }
}

size_t bytes_of(smddp_dtype_t dtype) {
  size_t bytes = 0;
  assert_int_equal(smddp_dtype_size(dtype, &bytes), SMDDP_SUCCESS);
  return bytes;
}

void check_reduction(smddp_dtype_t dtype, smddp_op_t op, int size) {
  const size_t bytes = bytes_of(dtype), first = 12345;
  Pattern pattern{dtype, true, op, size, 5};
  std::vector<std::vector<char>> in(size, std::vector<char>(kCount * bytes));
  std::vector<int> forward, backward;
  for (int r = 0; r < size; ++r) {
    fill(pattern, r, first, kCount, in[r].data());
    assert_int_equal(count_wrong(pattern, r, first, kCount, in[r].data()), 0);
    forward.push_back(r);
    backward.insert(backward.begin(), r);
  }
  std::vector<char> out(kCount * bytes);
  for (const auto& order : {forward, backward}) {
    reduce(pattern, in, order, out);
    const int64_t wrong = count_wrong(pattern, kAllRanks, first, kCount, out.data());
    if (wrong != 0) fail_msg("%s %s on %d ranks: %lld of %zu expected results differ", smddp_dtype_name(dtype), smddp_op_name(op), size,
                             static_cast<long long>(wrong), kCount);
  }
  out[(kCount - 1) * bytes] ^= 1;
  assert_int_equal(count_wrong(pattern, kAllRanks, first, kCount, out.data()), 1);
  out[(kCount - 1) * bytes] ^= 1;
  // Shifted by one element, or from another repetition: many are wrong. With one bit a result, about half at best.
  const int64_t few = dtype == SMDDP_BOOL || size > 17 ? kCount / 10 : kCount / 3;
  const int64_t shifted = count_wrong(pattern, kAllRanks, first + 1, kCount, out.data());
  ++pattern.repetition;
  const int64_t older = count_wrong(pattern, kAllRanks, first, kCount, out.data());
  if (size <= 17 && (shifted < few || older < few)) {
    fail_msg("%s %s on %d ranks: of %zu elements %lld differ when shifted and %lld when older", smddp_dtype_name(dtype), smddp_op_name(op),
             size, kCount, static_cast<long long>(shifted), static_cast<long long>(older));
  }
}

void test_reductions(void**) {
  for (const smddp_dtype_t dtype : kDtypes) {
    for (const smddp_op_t op : kOps) {
      for (const int size : kSizes) {
        if (is_allowed(op, dtype)) check_reduction(dtype, op, size);
      }
    }
  }
}

void test_movement(void**) {
  for (const smddp_dtype_t dtype : kDtypes) {
    const size_t bytes = bytes_of(dtype);
    const Pattern pattern{dtype, false, SMDDP_SUM, 4, 9};
    std::vector<char> data(kCount * bytes);
    fill(pattern, 2, 100, kCount, data.data());
    assert_int_equal(count_wrong(pattern, 2, 100, kCount, data.data()), 0);
    struct Other {
      int rank;
      size_t first;
      uint64_t repetition;
    };
    for (const Other& other : {Other{1, 100, 9}, {2, 101, 9}, {2, 100, 8}, {2, 100 + 1024, 9}}) {
      const Pattern different{dtype, false, SMDDP_SUM, 4, other.repetition};
      assert_true(count_wrong(different, other.rank, other.first, kCount, data.data()) > static_cast<int64_t>(kCount / 3));
    }
    data[bytes * 7] ^= 1;
    assert_int_equal(count_wrong(pattern, 2, 100, kCount, data.data()), 1);
  }
}

void test_many_ranks_stay_finite(void**) {
  for (const smddp_dtype_t dtype : kDtypes) {
    for (const smddp_op_t op : kOps) {
      if (is_allowed(op, dtype)) {
        const Pattern pattern{dtype, true, op, 3000, 1};
        std::vector<char> data(64 * bytes_of(dtype));
        fill(pattern, 2999, 0, 64, data.data());
        assert_int_equal(count_wrong(pattern, 2999, 0, 64, data.data()), 0);
      }
    }
  }
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {cmocka_unit_test(test_reductions), cmocka_unit_test(test_movement),
                              cmocka_unit_test(test_many_ranks_stay_finite)};
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
