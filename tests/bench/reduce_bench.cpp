// Time of the reduction kernels in this process alone: nanoseconds a call for small counts, and GiB a second read and written for
// large ones, beside memcpy of the same size. Usage: reduce_bench [dtype [op]]; float32 sum without arguments. One line a case.
#include "base/clock.hpp"
#include "base/types.hpp"
#include "base/units.hpp"
#include "reduce/reduce.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

using namespace smddp;

constexpr int kMostSources = 8;

// Median over rounds of the time of one call.
template <class Call>
double median_ns(Call call, int64_t round_ns) {
  int calls = 1;
  for (;; calls *= 2) {
    const int64_t start = now_ns();
    for (int i = 0; i < calls; ++i) call();
    if (now_ns() - start > round_ns) break;
  }
  std::vector<double> rounds;
  for (int round = 0; round < 15; ++round) {
    const int64_t start = now_ns();
    for (int i = 0; i < calls; ++i) call();
    rounds.push_back(static_cast<double>(now_ns() - start) / calls);
  }
  std::nth_element(rounds.begin(), rounds.begin() + 7, rounds.end());
  return rounds[7];
}

int find(const char* name, int end, const char* (*name_of)(int)) {
  for (int i = 0; i < end; ++i) {
    if (std::strcmp(name_of(i), name) == 0) return i;
  }
  std::fprintf(stderr, "reduce_bench: unknown name '%s'\n", name);
  std::exit(2);
}

}  // namespace

int main(int argc, char** argv) {
  const auto dtype = static_cast<smddp_dtype_t>(
      find(argc > 1 ? argv[1] : "float32", kDtypeEnd, [](int i) { return dtype_name(static_cast<smddp_dtype_t>(i)); }));
  const auto op =
      static_cast<smddp_op_t>(find(argc > 2 ? argv[2] : "sum", kOpEnd, [](int i) { return op_name(static_cast<smddp_op_t>(i)); }));
  const reduce::Kernel kernel = reduce::kernel(dtype, op);
  if (!kernel) {
    std::fprintf(stderr, "reduce_bench: %s is not defined for %s\n", op_name(op), dtype_name(dtype));
    return 2;
  }
  std::printf("# %s %s, SIMD %s\n", dtype_name(dtype), op_name(op), reduce::simd_description());
  std::printf("# %10s %8s %7s %12s %9s %12s\n", "bytes", "sources", "stream", "ns", "GiB/s", "memcpy ns");
  constexpr size_t kMost = size_t{16} << 20;
  std::vector<std::vector<unsigned char>> buffers(kMostSources + 1, std::vector<unsigned char>(kMost + 64, 0x3C));
  std::vector<const void*> sources;
  for (int s = 0; s < kMostSources; ++s) sources.push_back(buffers[static_cast<size_t>(s)].data());
  unsigned char* result = buffers[kMostSources].data();
  const size_t element = dtype_bytes(dtype);
  for (size_t bytes : {element, size_t{64}, size_t{1} << 10, size_t{8} << 10, size_t{64} << 10, size_t{256} << 10, size_t{1} << 20,
                       kMost}) {
    const double copy_ns = median_ns([&] { std::memcpy(result, sources[0], bytes); }, 2000000);
    for (int n : {1, 2, 3, 4, 8}) {
      for (bool stream : {false, true}) {
        if (stream && bytes < 65536) continue;
        reduce::Arguments arguments;
        arguments.destinations[0] = result;
        arguments.sources = sources.data();
        arguments.source_count = n;
        arguments.count = bytes / element;
        arguments.divisor = n;
        arguments.stream = stream;
        const double ns = median_ns([&] { kernel(arguments); }, 2000000);
        std::printf("  %10zu %8d %7s %12.1f %9.1f %12.1f\n", bytes, n, stream ? "yes" : "no", ns,
                    static_cast<double>(bytes) * (n + 1) / ns * 1e9 / (1 << 30), copy_ns);
      }
    }
  }
  const double choose_ns = median_ns([&] { asm volatile("" : : "r"(reduce::kernel(dtype, op)) : "memory"); }, 2000000);
  std::printf("# choosing a kernel: %.1f ns\n", choose_ns);
  return 0;
}
