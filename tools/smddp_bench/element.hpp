// What a rank contributes, for each dtype: from 32 random bits to a value. Each element type has
//   Stored             as it lies in the buffer
//   Value              in which results are computed
//   contribution(p, r) function from random bits to the Value of rank r
//   input(v)           v as the reduction sees it
//   logical(op)        the operation on Values that op is
//   store(v)           v in the buffer
// Invariant: ranges are narrow enough that no operation rounds, and wide enough that two elements are seldom equal.
#pragma once

#include "pattern.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <type_traits>

namespace smddp_bench {

// −limit … limit from 32 random bits.
inline int64_t spread(uint32_t bits, int64_t limit) {
  return static_cast<int64_t>((uint64_t{bits} * static_cast<uint64_t>(2 * limit + 1)) >> 32) - limit;
}

template <typename T>
struct Integer {
  using Stored = T;
  using Value = T;
  static auto contribution(const Pattern& pattern, int) {
    const bool average = pattern.reduces && pattern.op == SMDDP_AVG;
    const bool odd = pattern.reduces && pattern.op == SMDDP_PROD;  // or products soon become 0
    const int64_t limit = std::min<int64_t>(static_cast<int64_t>(std::min<uint64_t>(std::numeric_limits<T>::max(), INT64_MAX)) / pattern.size,
                                            INT32_MAX);
    // Of p random words AND leaves hardly a one and OR hardly a zero: so each bit is one, or zero, on about one rank of all.
    const bool ands = pattern.reduces && pattern.op == SMDDP_BAND, ors = pattern.reduces && pattern.op == SMDDP_BOR;
    const int words = ands || ors ? std::bit_width(static_cast<unsigned>(pattern.size)) : 1;
    return [=](uint32_t bits) -> T {
      if (average) {
        const int64_t value = spread(bits, limit);
        return static_cast<T>(std::is_signed_v<T> || value >= 0 ? value : -value);
      }
      uint64_t wide = uint64_t{bits} << 32 | (bits * 0xC2B2AE35u);
      for (int word = 1; word < words; ++word) {
        const uint64_t next = (wide ^ (wide >> 29)) * 0xBF58476D1CE4E5B9u + static_cast<uint64_t>(bits) * 0x94D049BB133111EBu;
        wide = ands ? wide | next : wide & next;
      }
      return static_cast<T>(wide >> (64 - 8 * sizeof(T)) | odd);
    };
  }
  static T input(T value) { return value; }
  static smddp_op_t logical(smddp_op_t op) { return op; }
  static T store(T value) { return value; }
};

// kDigits: integers to 2^kDigits are exact. kSumDigits: the same for what sums are accumulated in.
template <typename Bits, int kDigits, int kSumDigits, typename Store>
struct Float {
  using Stored = Bits;
  using Value = double;
  static auto contribution(const Pattern& pattern, int rank) {
    const smddp_op_t op = pattern.op;
    const int64_t exact = int64_t{1} << kDigits, sums = int64_t{1} << kSumDigits, p = pattern.size;
    int64_t limit = exact;
    if (op == SMDDP_SUM) limit = exact / p;
    // Multiples of p, so that the average is an integer too.
    if (op == SMDDP_AVG) limit = std::min(exact / p, sums / p / p);
    limit = std::min<int64_t>(limit, INT32_MAX);
    if (limit == 0 && rank < exact) limit = 1;  // more ranks than exact integers: only the first add something
    const int64_t factor = op == SMDDP_AVG ? p : 1;
    const bool product = op == SMDDP_PROD, scales = rank < 8;
    return [=](uint32_t bits) -> double {
      if (!product) return static_cast<double>(spread(bits, limit) * factor);
      const double scale = scales ? ((bits & 4) ? 2.0 : (bits & 2) ? 0.5 : 1.0) : 1.0;
      return (bits & 1) ? -scale : scale;
    };
  }
  static double input(double value) { return value; }
  static smddp_op_t logical(smddp_op_t op) { return op; }
  static Bits store(double value) { return Store::convert(value); }
};

struct StoreFloat64 {
  static uint64_t convert(double value) {
    uint64_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
  }
};
struct StoreFloat32 {
  static uint32_t convert(double value) {
    const float narrow = static_cast<float>(value);
    uint32_t bits;
    std::memcpy(&bits, &narrow, sizeof bits);
    return bits;
  }
};
struct StoreBFloat16 {
  static uint16_t convert(double value) { return static_cast<uint16_t>(StoreFloat32::convert(value) >> 16); }
};
struct StoreFloat16 {
  // Exact values in the normal range alone: the exponent is rebiased, nothing is rounded.
  static uint16_t convert(double value) {
    const uint32_t bits = StoreFloat32::convert(value), magnitude = bits & 0x7FFFFFFFu;
    const uint32_t half = magnitude ? (magnitude >> 13) - (112u << 10) : 0;
    return static_cast<uint16_t>(bits >> 31 << 15 | half);
  }
};

using Float64 = Float<uint64_t, 52, 52, StoreFloat64>;
using Float32 = Float<uint32_t, 24, 24, StoreFloat32>;
using Float16 = Float<uint16_t, 11, 24, StoreFloat16>;
using BFloat16 = Float<uint16_t, 8, 24, StoreBFloat16>;

struct Bool {
  using Stored = uint8_t;
  using Value = uint8_t;
  static auto contribution(const Pattern& pattern, int) {
    // The rarer value comes about once in all ranks' elements, else results were nearly all alike.
    const bool reduces = pattern.reduces, ands = logical(pattern.op) == SMDDP_BAND;
    const uint32_t rare = static_cast<uint32_t>(0xFFFFFFFFu / static_cast<uint32_t>(pattern.size + 1));
    return [=](uint32_t bits) -> uint8_t {
      if (!reduces) return bits & 1;
      const uint8_t truth = (bits & 2) ? 1 : (bits & 1) ? 2 : 255;  // any byte but 0
      return (bits < rare) != ands ? truth : 0;
    };
  }
  static uint8_t input(uint8_t value) { return value != 0; }
  static smddp_op_t logical(smddp_op_t op) {
    if (op == SMDDP_SUM || op == SMDDP_MAX) return SMDDP_BOR;
    return op == SMDDP_PROD || op == SMDDP_MIN ? SMDDP_BAND : op;
  }
  static uint8_t store(uint8_t value) { return value; }
};

}  // namespace smddp_bench
