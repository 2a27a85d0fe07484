#include "pattern.hpp"

#include "element.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>

namespace smddp_bench {
namespace {

constexpr size_t kBlock = 1024;

uint32_t seed_of(uint64_t repetition, int rank) {
  uint64_t x = (repetition + 1) * 0x9E3779B97F4A7C15u + static_cast<uint64_t>(rank + 1) * 0xD1B54A32D192ED03u;
  x ^= x >> 32;
  x *= 0xD6E8FEB86659FD93u;
  return static_cast<uint32_t>(x >> 32);
}

// Cheap and vectorizable; good enough that shifted or older data differs in most elements.
uint32_t hash(uint32_t seed, size_t index) {
  uint32_t x = static_cast<uint32_t>(index) * 0x9E3779B1u + static_cast<uint32_t>(uint64_t{index} >> 32) * 0x632BE5ABu + seed;
  x ^= x >> 16;
  x *= 0x85EBCA6Bu;
  return x ^ (x >> 13);
}

template <typename E>
void generate(const Pattern& pattern, int rank, size_t first, size_t count, typename E::Value* values) {
  const uint32_t seed = seed_of(pattern.repetition, rank);
  const auto contribution = E::contribution(pattern, rank);
  for (size_t i = 0; i < count; ++i) values[i] = contribution(hash(seed, first + i));
}

// values[i] = values[i] op more[i], in the arithmetic of the element.
template <typename Value>
void combine(smddp_op_t op, size_t count, const Value* more, Value* values) {
  const auto apply = [&](auto function) {
    for (size_t i = 0; i < count; ++i) values[i] = function(values[i], more[i]);
  };
  if constexpr (std::is_integral_v<Value>) {
    using Bits = std::make_unsigned_t<Value>;
    // Unsigned and at least as wide as unsigned int: so that wrapping is defined.
    const auto bits = [](Value value) { return static_cast<uint64_t>(static_cast<Bits>(value)); };
    switch (op) {
      case SMDDP_PROD: return apply([&](Value a, Value b) { return static_cast<Value>(bits(a) * bits(b)); });
      case SMDDP_BAND: return apply([](Value a, Value b) { return static_cast<Value>(a & b); });
      case SMDDP_BOR: return apply([](Value a, Value b) { return static_cast<Value>(a | b); });
      case SMDDP_BXOR: return apply([](Value a, Value b) { return static_cast<Value>(a ^ b); });
      case SMDDP_MIN: return apply([](Value a, Value b) { return std::min(a, b); });
      case SMDDP_MAX: return apply([](Value a, Value b) { return std::max(a, b); });
      default: return apply([&](Value a, Value b) { return static_cast<Value>(bits(a) + bits(b)); });
    }
  } else {
    switch (op) {
      case SMDDP_PROD: return apply([](Value a, Value b) { return a * b; });
      case SMDDP_MIN: return apply([](Value a, Value b) { return std::min(a, b); });
      case SMDDP_MAX: return apply([](Value a, Value b) { return std::max(a, b); });
      default: return apply([](Value a, Value b) { return a + b; });
    }
  }
}

template <typename E>
void expect(const Pattern& pattern, int rank, size_t first, size_t count, typename E::Stored* expected) {
  typename E::Value values[kBlock], more[kBlock];
  if (rank != kAllRanks) {
    generate<E>(pattern, rank, first, count, values);
    for (size_t i = 0; i < count; ++i) expected[i] = E::store(values[i]);
    return;
  }
  const smddp_op_t op = E::logical(pattern.op);
  generate<E>(pattern, 0, first, count, values);
  for (size_t i = 0; i < count; ++i) values[i] = E::input(values[i]);
  for (int r = 1; r < pattern.size; ++r) {
    generate<E>(pattern, r, first, count, more);
    for (size_t i = 0; i < count; ++i) more[i] = E::input(more[i]);
    combine(op, count, more, values);
  }
  if (pattern.op == SMDDP_AVG) {
    using Wide = std::conditional_t<std::is_integral_v<typename E::Value>, int64_t, double>;
    for (size_t i = 0; i < count; ++i) values[i] = static_cast<typename E::Value>(static_cast<Wide>(values[i]) / pattern.size);
  }
  for (size_t i = 0; i < count; ++i) expected[i] = E::store(values[i]);
}

template <typename E>
void fill_elements(const Pattern& pattern, int rank, size_t first, size_t count, void* data) {
  auto* stored = static_cast<typename E::Stored*>(data);
  for (size_t done = 0; done < count; done += kBlock) {
    expect<E>(pattern, rank, first + done, std::min(kBlock, count - done), stored + done);
  }
}

template <typename E>
int64_t count_wrong_elements(const Pattern& pattern, int rank, size_t first, size_t count, const void* data) {
  const auto* stored = static_cast<const typename E::Stored*>(data);
  typename E::Stored expected[kBlock];
  int64_t wrong = 0;
  for (size_t done = 0; done < count; done += kBlock) {
    const size_t length = std::min(kBlock, count - done);
    expect<E>(pattern, rank, first + done, length, expected);
    if (std::memcmp(expected, stored + done, length * sizeof *expected) == 0) continue;
    for (size_t i = 0; i < length; ++i) wrong += std::memcmp(expected + i, stored + done + i, sizeof *expected) != 0;
  }
  return wrong;
}

// Calls function with the element type of pattern.
template <typename Function>
auto with_element(const Pattern& pattern, Function function) {
  if (!pattern.reduces && pattern.dtype != SMDDP_BOOL) {
    size_t bytes = 1;
    smddp_dtype_size(pattern.dtype, &bytes);
    switch (bytes) {
      case 2: return function(Integer<uint16_t>());
      case 4: return function(Integer<uint32_t>());
      case 8: return function(Integer<uint64_t>());
      default: return function(Integer<uint8_t>());
    }
  }
  switch (pattern.dtype) {
    case SMDDP_INT8: return function(Integer<int8_t>());
    case SMDDP_UINT8: return function(Integer<uint8_t>());
    case SMDDP_INT16: return function(Integer<int16_t>());
    case SMDDP_UINT16: return function(Integer<uint16_t>());
    case SMDDP_INT32: return function(Integer<int32_t>());
    case SMDDP_UINT32: return function(Integer<uint32_t>());
    case SMDDP_INT64: return function(Integer<int64_t>());
    case SMDDP_UINT64: return function(Integer<uint64_t>());
    case SMDDP_FLOAT16: return function(Float16());
    case SMDDP_BFLOAT16: return function(BFloat16());
    case SMDDP_FLOAT32: return function(Float32());
    case SMDDP_FLOAT64: return function(Float64());
    default: return function(Bool());
  }
}

}  // namespace

void fill(const Pattern& pattern, int rank, size_t first, size_t count, void* data) {
  with_element(pattern, [&](auto element) { fill_elements<decltype(element)>(pattern, rank, first, count, data); });
}

int64_t count_wrong(const Pattern& pattern, int rank, size_t first, size_t count, const void* data) {
  return with_element(pattern, [&](auto element) { return count_wrong_elements<decltype(element)>(pattern, rank, first, count, data); });
}

bool is_allowed(smddp_op_t op, smddp_dtype_t dtype) {
  const bool is_float = dtype == SMDDP_FLOAT16 || dtype == SMDDP_BFLOAT16 || dtype == SMDDP_FLOAT32 || dtype == SMDDP_FLOAT64;
  if (op == SMDDP_BAND || op == SMDDP_BOR || op == SMDDP_BXOR) return !is_float;
  return !(op == SMDDP_AVG && dtype == SMDDP_BOOL);
}

}  // namespace smddp_bench
