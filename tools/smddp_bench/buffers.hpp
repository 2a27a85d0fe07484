// The two buffers of a rank, each with a guard behind it. Invariant: bytes that no collective may write keep the poison.
#pragma once

#include <smddp/smddp.h>

#include <cstddef>
#include <cstdint>

namespace smddp_bench {

constexpr size_t kGuardBytes = 64;

class Buffer {
 public:
  // bytes: usable. From smddp_alloc if shared.
  Buffer(smddp_comm_t comm, size_t bytes, bool shared);
  ~Buffer();
  Buffer(const Buffer&) = delete;

  char* data() const { return data_; }

 private:
  char* data_ = nullptr;
  bool shared_;
};

void poison(void* data, size_t bytes);
int64_t count_unpoisoned(const void* data, size_t bytes);  // bytes that changed

}  // namespace smddp_bench
