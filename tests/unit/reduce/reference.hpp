// The reductions in plain scalar code, element by element: what the kernels must give, bit by bit.
#pragma once

#include "base/types.hpp"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

namespace unit::reduce {

// A binary float format of 16 bits: digits of the significand with the hidden one, least exponent of a normal number.
struct Format {
  int digits, least;
};
constexpr Format kFloat16{11, -14}, kBfloat16{8, -126};

inline double half_to_double(Format f, uint16_t bits) {
  const int stored = f.digits - 1;
  const int exponent = (bits & 0x7FFF) >> stored;
  const int fraction = bits & ((1 << stored) - 1);
  const double sign = bits & 0x8000 ? -1 : 1;
  if (exponent == (0x7FFF >> stored)) return fraction ? std::numeric_limits<double>::quiet_NaN() : sign * INFINITY;
  if (exponent == 0) return sign * std::ldexp(fraction, f.least - stored);
  return sign * std::ldexp((1 << stored) + fraction, f.least - stored + exponent - 1);
}

// Rounds to nearest even.
inline uint16_t half_from_double(Format f, double x) {
  const int stored = f.digits - 1;
  const int special = 0x7FFF >> stored << stored;  // bits of infinity
  if (std::isnan(x)) return static_cast<uint16_t>(special | 1 << (stored - 1));
  const int sign = std::signbit(x) ? 0x8000 : 0;
  x = std::fabs(x);
  if (x == 0) return static_cast<uint16_t>(sign);
  if (std::isinf(x)) return static_cast<uint16_t>(sign | special);
  const int exponent = std::ilogb(x) < f.least ? f.least : std::ilogb(x);
  // In units of the last place; a significand that rounds up to the next power of two carries into the exponent's bits.
  const int64_t units = static_cast<int64_t>(std::nearbyint(std::ldexp(x, stored - exponent)));
  const int64_t bits = units + (static_cast<int64_t>(exponent - f.least) << stored);
  return static_cast<uint16_t>(sign | (bits > special ? special : bits));
}

template <class T>
T reduce_integers(smddp_op_t op, const T* in, int n, int divisor, bool finish) {
  using U = std::make_unsigned_t<T>;
  T x = in[0];
  for (int s = 1; s < n; ++s) {
    const T v = in[s];
    switch (op) {
      case SMDDP_SUM: case SMDDP_AVG: x = static_cast<T>(static_cast<U>(uint64_t(U(x)) + uint64_t(U(v)))); break;
      case SMDDP_PROD: x = static_cast<T>(static_cast<U>(uint64_t(U(x)) * uint64_t(U(v)))); break;
      case SMDDP_MIN: x = v < x ? v : x; break;
      case SMDDP_MAX: x = v > x ? v : x; break;
      case SMDDP_BAND: x = static_cast<T>(x & v); break;
      case SMDDP_BOR: x = static_cast<T>(x | v); break;
      default: x = static_cast<T>(x ^ v); break;
    }
  }
  return op == SMDDP_AVG && finish ? static_cast<T>(static_cast<__int128>(x) / divisor) : x;
}

// F: the type that is computed in. One source without a division is handed on by the caller.
template <class F>
F reduce_floats(smddp_op_t op, const F* in, int n, int divisor, bool finish) {
  F x = in[0];
  bool nan = std::isnan(x);
  for (int s = 1; s < n; ++s) {
    const F v = in[s];
    nan = nan || std::isnan(v);
    const bool before = v < x || (v == x && std::signbit(v) && !std::signbit(x));
    switch (op) {
      case SMDDP_SUM: case SMDDP_AVG: x = x + v; break;
      case SMDDP_PROD: x = x * v; break;
      case SMDDP_MIN: x = before ? v : x; break;
      default: x = before ? x : v; break;
    }
  }
  if (op == SMDDP_AVG && finish) x = x / static_cast<F>(divisor);
  return nan || std::isnan(x) ? std::numeric_limits<F>::quiet_NaN() : x;
}

template <class T>
void integers_at(smddp_op_t op, const unsigned char* const* in, int n, int divisor, bool finish, size_t i, unsigned char* out) {
  T values[64] = {};
  for (int s = 0; s < n; ++s) std::memcpy(&values[s], in[s] + i * sizeof(T), sizeof(T));
  const T result = reduce_integers(op, values, n, divisor, finish);
  std::memcpy(out, &result, sizeof(T));
}

template <class F>
void floats_at(smddp_op_t op, const unsigned char* const* in, int n, int divisor, bool finish, size_t i, unsigned char* out) {
  F values[64] = {};
  for (int s = 0; s < n; ++s) std::memcpy(&values[s], in[s] + i * sizeof(F), sizeof(F));
  const F result = reduce_floats(op, values, n, divisor, finish);
  std::memcpy(out, &result, sizeof(F));
}

inline void halves_at(Format f, smddp_op_t op, const unsigned char* const* in, int n, int divisor, bool finish, size_t i,
                      unsigned char* out) {
  float values[64] = {};
  for (int s = 0; s < n; ++s) {
    uint16_t bits;
    std::memcpy(&bits, in[s] + i * 2, 2);
    values[s] = static_cast<float>(half_to_double(f, bits));
  }
  const uint16_t result = half_from_double(f, static_cast<double>(reduce_floats(op, values, n, divisor, finish)));
  std::memcpy(out, &result, 2);
}

inline void bools_at(smddp_op_t op, const unsigned char* const* in, int n, size_t i, unsigned char* out) {
  int truths = 0;
  for (int s = 0; s < n; ++s) truths += in[s][i] != 0;
  if (op == SMDDP_BXOR) *out = truths % 2;
  else if (op == SMDDP_SUM || op == SMDDP_MAX || op == SMDDP_BOR) *out = truths > 0;
  else *out = truths == n;
}

// Element i of the reduction of n sources (at most 64) into out.
inline void reference(smddp_dtype_t dtype, smddp_op_t op, const unsigned char* const* in, int n, int divisor, bool finish, size_t i,
                      unsigned char* out) {
  if (smddp::dtype_is_float(dtype) && n == 1 && (op != SMDDP_AVG || !finish || divisor == 1)) {
    std::memcpy(out, in[0] + i * smddp::dtype_bytes(dtype), smddp::dtype_bytes(dtype));
    return;
  }
  switch (dtype) {
    case SMDDP_INT8: return integers_at<int8_t>(op, in, n, divisor, finish, i, out);
    case SMDDP_UINT8: return integers_at<uint8_t>(op, in, n, divisor, finish, i, out);
    case SMDDP_INT16: return integers_at<int16_t>(op, in, n, divisor, finish, i, out);
    case SMDDP_UINT16: return integers_at<uint16_t>(op, in, n, divisor, finish, i, out);
    case SMDDP_INT32: return integers_at<int32_t>(op, in, n, divisor, finish, i, out);
    case SMDDP_UINT32: return integers_at<uint32_t>(op, in, n, divisor, finish, i, out);
    case SMDDP_INT64: return integers_at<int64_t>(op, in, n, divisor, finish, i, out);
    case SMDDP_UINT64: return integers_at<uint64_t>(op, in, n, divisor, finish, i, out);
    case SMDDP_FLOAT16: return halves_at(kFloat16, op, in, n, divisor, finish, i, out);
    case SMDDP_BFLOAT16: return halves_at(kBfloat16, op, in, n, divisor, finish, i, out);
    case SMDDP_FLOAT32: return floats_at<float>(op, in, n, divisor, finish, i, out);
    case SMDDP_FLOAT64: return floats_at<double>(op, in, n, divisor, finish, i, out);
    default: return bools_at(op, in, n, i, out);
  }
}

}  // namespace unit::reduce
