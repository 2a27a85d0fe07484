// Buffers that are aligned to their element or less, at every offset, and the streaming hint at each of them.
#include "base/types.hpp"
#include "reduce/reduce.hpp"
#include "unit/reduce/every_target.hpp"

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

template <class T>
bool sums(const char* target, smddp_dtype_t dtype, size_t count, size_t send_offset, size_t other_offset, size_t result_offset,
          bool stream) {
  alignas(64) static unsigned char store[3][16384 + 256];
  unsigned char* buffers[3] = {store[0] + send_offset, store[1] + other_offset, store[2] + result_offset};
  std::memset(store[2], 0xF9, sizeof(store[2]));
  for (size_t i = 0; i < count; ++i) {
    const T a = static_cast<T>(i % 50), b = static_cast<T>(i % 7 + 1);
    std::memcpy(buffers[0] + i * sizeof(T), &a, sizeof(T));
    std::memcpy(buffers[1] + i * sizeof(T), &b, sizeof(T));
  }
  const void* sources[] = {buffers[0], buffers[1]};
  const smddp::reduce::Arguments arguments{{buffers[2], nullptr}, sources, 2, count, 2, true, stream};
  smddp::reduce::kernel(dtype, SMDDP_SUM)(arguments);
  bool good = true;
  for (size_t i = 0; i < count && good; ++i) {
    T result;
    std::memcpy(&result, buffers[2] + i * sizeof(T), sizeof(T));
    good = result == static_cast<T>(i % 50 + i % 7 + 1);
  }
  for (unsigned char* p = store[2]; p < buffers[2] && good; ++p) good = *p == 0xF9;
  for (unsigned char* p = buffers[2] + count * sizeof(T); p < store[2] + sizeof(store[2]) && good; ++p) good = *p == 0xF9;
  if (!good) {
    std::fprintf(stderr, "%s, count %zu, offsets %zu %zu -> %zu, stream %d, target %s\n", smddp::dtype_name(dtype), count, send_offset,
                 other_offset, result_offset, stream, target);
  }
  return good;
}

void float_offsets(void**) {
  assert_true(unit::reduce::every_target([](const char* target) {
    for (size_t k = 0; k < 16; ++k) {
      for (size_t m = 0; m < 16; ++m) {
        if (!sums<float>(target, SMDDP_FLOAT32, 33, 4 * k, 4 * (15 - k), 4 * m, false)) return false;
      }
    }
    return true;
  }));
}

void byte_offsets(void**) {
  assert_true(unit::reduce::every_target([](const char* target) {
    for (size_t k = 0; k < 64; ++k) {
      for (size_t m = 0; m < 64; ++m) {
        if (!sums<int8_t>(target, SMDDP_INT8, 33, k, 63 - k, m, false)) return false;
      }
      if (!sums<double>(target, SMDDP_FLOAT64, 75, k, k / 2, 63 - k, false)) return false;
    }
    return true;
  }));
}

void streamed_at_every_offset(void**) {
  assert_true(unit::reduce::every_target([](const char* target) {
    for (size_t k = 0; k < 64; ++k) {
      if (!sums<float>(target, SMDDP_FLOAT32, 3001, 1, 2, k, true)) return false;
      if (!sums<int16_t>(target, SMDDP_INT16, 5003, k, 0, k, true)) return false;
      if (!sums<int8_t>(target, SMDDP_INT8, 9001, 0, k, k, true)) return false;
    }
    return true;
  }));
}

void copies(void**) {
  assert_true(unit::reduce::every_target([](const char* target) {
    std::vector<unsigned char> from(20000), to(20000 + 256);
    for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<unsigned char>(i * 31 + i / 256);
    for (const size_t bytes : {0, 1, 63, 64, 4095, 4096, 4097, 8191, 16384, 19000}) {
      for (size_t offset = 0; offset < 64; ++offset) {
        for (const bool stream : {false, true}) {
          std::fill(to.begin(), to.end(), static_cast<unsigned char>(0xF9));
          smddp::reduce::copy(to.data() + 64 + offset, from.data() + offset / 3, bytes, stream);
          bool good = std::memcmp(to.data() + 64 + offset, from.data() + offset / 3, bytes) == 0;
          for (size_t i = 0; i < 64 + offset && good; ++i) good = to[i] == 0xF9;
          for (size_t i = 64 + offset + bytes; i < to.size() && good; ++i) good = to[i] == 0xF9;
          if (good) continue;
          std::fprintf(stderr, "copy of %zu bytes to offset %zu, stream %d, target %s\n", bytes, offset, stream, target);
          return false;
        }
      }
    }
    const std::vector<unsigned char> before = from;
    smddp::reduce::copy(from.data(), from.data(), from.size(), true);
    return from == before;
  }));
  smddp::reduce::copy(nullptr, nullptr, 0, true);
}

void nothing_to_do(void**) {
  const void* sources[] = {nullptr, nullptr};
  const smddp::reduce::Arguments arguments{{nullptr, nullptr}, sources, 2, 0, 2, true, true};
  for (int dtype = 1; dtype < smddp::kDtypeEnd; ++dtype) {
    for (int op = 0; op < smddp::kOpEnd; ++op) {
      const auto kernel = smddp::reduce::kernel(static_cast<smddp_dtype_t>(dtype), static_cast<smddp_op_t>(op));
      if (kernel) kernel(arguments);
    }
  }
  assert_non_null(std::strchr(smddp::reduce::simd_description(), '('));
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(float_offsets), cmocka_unit_test(byte_offsets), cmocka_unit_test(streamed_at_every_offset),
      cmocka_unit_test(copies),        cmocka_unit_test(nothing_to_do),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
