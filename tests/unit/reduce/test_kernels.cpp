// TIMEOUT 600
// Every type, operation, number of sources, count and placement against the plain scalar reference, on every SIMD target: results,
// guard bytes around them, sources unchanged, in place, two destinations, streaming.
#include "base/types.hpp"
#include "reduce/reduce.hpp"
#include "unit/reduce/every_target.hpp"
#include "unit/reduce/reference.hpp"

#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <random>
#include <setjmp.h>
#include <vector>

extern "C" {
#include <cmocka.h>
}

namespace {

using smddp::dtype_bytes;
using smddp::dtype_name;
using smddp::op_name;
using unit::reduce::every_target;
using unit::reduce::reference;

constexpr unsigned char kGuard = 0xF9;
constexpr size_t kGuardBytes = 64;
constexpr int kSources = 7;
constexpr size_t kMostCount = 20000;

bool is_defined(smddp_dtype_t dtype, smddp_op_t op) {
  if (op >= SMDDP_BAND) return !smddp::dtype_is_float(dtype);
  return !(op == SMDDP_AVG && dtype == SMDDP_BOOL);
}

// Where the first byte of each buffer lies beyond a cache line, and what else varies.
struct Layout {
  const char* name;
  size_t source_offset, source_step, destination_offset, second_offset;
  bool second, stream;
  int in_place;  // source that is the destination, −1: none
};

constexpr Layout kLayouts[] = {
    {"aligned", 0, 0, 0, 0, false, false, -1},
    {"odd offsets", 1, 3, 5, 0, false, false, -1},
    {"two destinations", 4, 8, 12, 7, true, false, -1},
    {"in place, first source", 2, 5, 0, 0, false, false, 0},
    {"in place, last source, two destinations", 8, 8, 0, 3, true, false, -2},
    {"stream", 16, 8, 24, 0, false, true, -1},
    {"stream in place, two destinations", 16, 16, 0, 16, true, true, 0},
};

// Buffers with guards; line-aligned places inside.
class Buffers {
 public:
  explicit Buffers(unsigned seed) : random_(seed), store_((kSources + 2) * kEach + 64) {}

  unsigned char* at(int buffer, size_t offset) {
    unsigned char* base = store_.data() + (64 - reinterpret_cast<uintptr_t>(store_.data()) % 64);
    return base + static_cast<size_t>(buffer) * kEach + 2 * kGuardBytes + offset;
  }

  // Random bits, with zeros, infinities, NaNs, subnormals and small numbers among them.
  void fill(smddp_dtype_t dtype, unsigned char* to, size_t count) {
    const size_t width = dtype_bytes(dtype);
    for (size_t i = 0; i < count; ++i) {
      uint64_t bits = random_();
      const unsigned kind = random_() % 16;
      if (dtype == SMDDP_BOOL) bits = kind < 12 ? kind % 3 : bits;
      else if (smddp::dtype_is_float(dtype)) bits = floating(dtype, bits, kind);
      else if (kind < 2) bits = kind == 0 ? 0 : uint64_t{1} << (8 * width - 1);
      std::memcpy(to + i * width, &bits, width);
    }
  }

 private:
  static constexpr size_t kEach = (kMostCount + 64) * 8 + 512;

  static uint64_t floating(smddp_dtype_t dtype, uint64_t bits, unsigned kind) {
    const int width = static_cast<int>(8 * dtype_bytes(dtype));
    const int fraction = dtype == SMDDP_FLOAT16 ? 10 : dtype == SMDDP_BFLOAT16 ? 7 : dtype == SMDDP_FLOAT32 ? 23 : 52;
    const uint64_t sign = (bits & 1) << (width - 1);
    const uint64_t lower = (bits >> 8) & ((uint64_t{1} << fraction) - 1);
    const uint64_t special = ((uint64_t{1} << (width - 1 - fraction)) - 1) << fraction;
    const uint64_t one = special / 2 >> fraction << fraction;
    switch (kind) {
      case 0: return sign;
      case 1: return bits & 2 ? sign | special : sign | special | (bits & 28 ? 0 : lower | 1);
      case 2: return sign | lower;                                     // subnormal
      case 3: case 4: case 5: return sign | (special - 1 - lower % 9);  // near the largest
      case 6: case 7: case 8: return bits & ((uint64_t{1} << (width - 1)) * 2 - 1);
      default: return sign | (one + ((bits >> 3) % 4 << fraction)) | lower;  // 1 … 16
    }
  }

  std::mt19937_64 random_;
  std::vector<unsigned char> store_;
};

bool all_guard(const unsigned char* from, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) {
    if (from[i] != kGuard) return false;
  }
  return true;
}

bool check(Buffers& buffers, const char* target, smddp_dtype_t dtype, smddp_op_t op, int n, size_t count, const Layout& layout,
           int divisor, bool finish) {
  const size_t width = dtype_bytes(dtype), bytes = width * count;
  const int in_place = layout.in_place == -2 ? n - 1 : layout.in_place;
  std::vector<unsigned char*> sources;
  std::vector<std::vector<unsigned char>> before;
  for (int s = 0; s < n; ++s) {
    unsigned char* from = buffers.at(s, layout.source_offset + layout.source_step * static_cast<size_t>(s));
    std::memset(from - kGuardBytes, kGuard, bytes + 2 * kGuardBytes);
    buffers.fill(dtype, from, count);
    sources.push_back(from);
    before.emplace_back(from, from + bytes);
  }
  unsigned char* results[2] = {in_place >= 0 ? sources[static_cast<size_t>(in_place)] : buffers.at(kSources, layout.destination_offset),
                               layout.second ? buffers.at(kSources + 1, layout.second_offset) : nullptr};
  if (in_place < 0) std::memset(results[0] - kGuardBytes, kGuard, bytes + 2 * kGuardBytes);
  if (results[1]) std::memset(results[1] - kGuardBytes, kGuard, bytes + 2 * kGuardBytes);

  smddp::reduce::Arguments arguments;
  arguments.destinations[0] = results[0];
  arguments.destinations[1] = results[1];
  arguments.sources = reinterpret_cast<const void* const*>(sources.data());
  arguments.source_count = n;
  arguments.count = count;
  arguments.divisor = divisor;
  arguments.finish = finish;
  arguments.stream = layout.stream;
  smddp::reduce::kernel(dtype, op)(arguments);

  std::vector<const unsigned char*> in;
  for (const auto& source : before) in.push_back(source.data());
  const auto where = [&](const char* what, size_t i) {
    std::fprintf(stderr, "%s: %s %s, %d sources, count %zu, element %zu, %s, divisor %d, finish %d, target %s\n", what, dtype_name(dtype),
                 op_name(op), n, count, i, layout.name, divisor, finish, target);
    return false;
  };
  for (size_t i = 0; i < count; ++i) {
    unsigned char expected[8];
    reference(dtype, op, in.data(), n, divisor, finish, i, expected);
    for (unsigned char* result : results) {
      if (!result || std::memcmp(result + i * width, expected, width) == 0) continue;
      for (int s = 0; s < n; ++s) {
        uint64_t bits = 0;
        std::memcpy(&bits, in[static_cast<size_t>(s)] + i * width, width);
        std::fprintf(stderr, "  source %d: 0x%llx\n", s, static_cast<unsigned long long>(bits));
      }
      uint64_t got = 0, want = 0;
      std::memcpy(&got, result + i * width, width);
      std::memcpy(&want, expected, width);
      std::fprintf(stderr, "  result 0x%llx, expected 0x%llx\n", static_cast<unsigned long long>(got),
                   static_cast<unsigned long long>(want));
      return where("wrong result", i);
    }
  }
  for (const unsigned char* result : results) {
    if (result && !(all_guard(result - kGuardBytes, kGuardBytes) && all_guard(result + bytes, kGuardBytes))) {
      return where("guard overwritten", count);
    }
  }
  for (int s = 0; s < n; ++s) {
    if (bytes > 0 && s != in_place && std::memcmp(sources[static_cast<size_t>(s)], in[static_cast<size_t>(s)], bytes) != 0) {
      return where("source changed", count);
    }
  }
  return true;
}

bool check_pair(Buffers& buffers, const char* target, smddp_dtype_t dtype, smddp_op_t op) {
  for (const int n : {1, 2, 3, 4, kSources}) {
    for (const size_t count : {size_t{0}, size_t{1}, size_t{7}, size_t{8}, size_t{31}, size_t{33}, size_t{1023}}) {
      for (const Layout& layout : kLayouts) {
        if (!check(buffers, target, dtype, op, n, count, layout, n, true)) return false;
      }
      if (op != SMDDP_AVG) continue;
      for (const int divisor : {1, 3, 16, 1000003, INT32_MAX}) {
        if (!check(buffers, target, dtype, op, n, count, kLayouts[1], divisor, true)) return false;
      }
      if (!check(buffers, target, dtype, op, n, count, kLayouts[1], n, false)) return false;
    }
  }
  return check(buffers, target, dtype, op, 2, kMostCount, kLayouts[5], 2, true);
}

void every_pair(smddp_dtype_t dtype) {
  Buffers buffers(static_cast<unsigned>(dtype));
  assert_true(every_target([&](const char* target) {
    for (int op = 0; op < smddp::kOpEnd; ++op) {
      if (is_defined(dtype, static_cast<smddp_op_t>(op)) && !check_pair(buffers, target, dtype, static_cast<smddp_op_t>(op))) return false;
    }
    return true;
  }));
}

void integers_8(void**) { every_pair(SMDDP_INT8); every_pair(SMDDP_UINT8); }
void integers_16(void**) { every_pair(SMDDP_INT16); every_pair(SMDDP_UINT16); }
void integers_32(void**) { every_pair(SMDDP_INT32); every_pair(SMDDP_UINT32); }
void integers_64(void**) { every_pair(SMDDP_INT64); every_pair(SMDDP_UINT64); }
void float16(void**) { every_pair(SMDDP_FLOAT16); }
void bfloat16(void**) { every_pair(SMDDP_BFLOAT16); }
void float32(void**) { every_pair(SMDDP_FLOAT32); }
void float64(void**) { every_pair(SMDDP_FLOAT64); }
void booleans(void**) { every_pair(SMDDP_BOOL); }

void only_defined_pairs_have_a_kernel(void**) {
  for (int dtype = -1; dtype < 70; ++dtype) {
    for (int op = -1; op < 70; ++op) {
      const bool expected = dtype >= 1 && dtype < smddp::kDtypeEnd && op >= 0 && op < smddp::kOpEnd &&
                            is_defined(static_cast<smddp_dtype_t>(dtype), static_cast<smddp_op_t>(op));
      const bool found = smddp::reduce::kernel(static_cast<smddp_dtype_t>(dtype), static_cast<smddp_op_t>(op)) != nullptr;
      if (found != expected) fail_msg("dtype %d, op %d: kernel %s", dtype, op, found ? "where none is defined" : "missing");
    }
  }
  assert_null(smddp::reduce::kernel(SMDDP_DTYPE_USER, SMDDP_SUM));
  assert_null(smddp::reduce::kernel(SMDDP_FLOAT32, SMDDP_OP_USER));
}

void several_targets_are_tested(void**) {
  int targets = 0;
  every_target([&](const char*) { return ++targets > 0; });
  std::printf("SIMD targets tested: %d, %s\n", targets, smddp::reduce::simd_description());
  assert_true(targets >= 1);
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(several_targets_are_tested), cmocka_unit_test(only_defined_pairs_have_a_kernel),
      cmocka_unit_test(integers_8), cmocka_unit_test(integers_16), cmocka_unit_test(integers_32), cmocka_unit_test(integers_64),
      cmocka_unit_test(float16), cmocka_unit_test(bfloat16), cmocka_unit_test(float32), cmocka_unit_test(float64),
      cmocka_unit_test(booleans),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
