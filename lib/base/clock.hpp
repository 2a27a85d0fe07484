// Monotonic time and deadlines. A deadline is an absolute time in nanoseconds; kNever does not pass.
#pragma once

#include <cstdint>
#include <ctime>

namespace smddp {

constexpr int64_t kNever = INT64_MAX;

inline int64_t now_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return int64_t{t.tv_sec} * 1000000000 + t.tv_nsec;
}

// Huge timeouts, SMDDP_TIMEOUT_INFINITE among them, become kNever instead of wrapping.
inline int64_t deadline_after_ms(int64_t timeout_ms) {
  const int64_t now = now_ns();
  return timeout_ms > (kNever - now) / 1000000 ? kNever : now + timeout_ms * 1000000;
}

// What is left, rounded up, for poll(2): −1 for kNever, 0 when it has passed.
inline int remaining_ms(int64_t deadline) {
  if (deadline == kNever) return -1;
  const int64_t left = deadline - now_ns();
  if (left <= 0) return 0;
  const int64_t ms = (left + 999999) / 1000000;
  return ms > 1000000000 ? 1000000000 : static_cast<int>(ms);
}

}  // namespace smddp
