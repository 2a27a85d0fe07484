#include "buffers.hpp"

#include "bench_options.hpp"
#include "rank_error.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace smddp_bench {
namespace {

constexpr int kPoison = 0xA5;

}  // namespace

Buffer::Buffer(smddp_comm_t comm, size_t bytes, bool shared) : shared_(shared) {
  constexpr size_t kPage = 4096;
  const size_t total = (bytes + kGuardBytes + kPage - 1) / kPage * kPage;
  if (shared) {
    void* pointer = nullptr;
    require(smddp_alloc(comm, total, &pointer), "smddp_alloc");
    data_ = static_cast<char*>(pointer);
  } else {
    data_ = static_cast<char*>(std::aligned_alloc(kPage, total));
    if (!data_) {
      std::fprintf(stderr, "smddp-bench: no memory for a buffer of %zu bytes\n", total);
      std::_Exit(kCallFailed);
    }
  }
  poison(data_, total);
}

Buffer::~Buffer() {
  if (shared_) {
    smddp_free(data_);
  } else {
    std::free(data_);
  }
}

void poison(void* data, size_t bytes) {
  if (bytes > 0) std::memset(data, kPoison, bytes);
}

int64_t count_unpoisoned(const void* data, size_t bytes) {
  const auto* begin = static_cast<const unsigned char*>(data);
  return static_cast<int64_t>(bytes) - std::count(begin, begin + bytes, static_cast<unsigned char>(kPoison));
}

}  // namespace smddp_bench
