// Randomness from the kernel. Invariant: all bytes are random or it throws.
#pragma once

#include "base/error.hpp"

#include <sys/random.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>

namespace smddp::bootstrap {

inline void random_bytes(void* data, size_t bytes) {
  auto* to = static_cast<char*>(data);
  while (bytes > 0) {
    const ssize_t got = getrandom(to, bytes, 0);
    if (got < 0 && errno != EINTR) throw system_error("getrandom", "while ranks meet");
    if (got <= 0) continue;
    to += got;
    bytes -= static_cast<size_t>(got);
  }
}

inline uint64_t random_number() {
  uint64_t number;
  random_bytes(&number, sizeof(number));
  return number;
}

}  // namespace smddp::bootstrap
