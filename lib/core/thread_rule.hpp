// Who may call collectives on a communicator: the thread that called the first one, until it ends; or any, one at a time.
// Two threads that race for one communicator would pair one rank's call of the first with another rank's call of the second, and nothing
// in the data could tell: so the second thread is refused.
#pragma once

#include "base/clock.hpp"

#include <smddp/smddp.h>

#include <sched.h>

#include <atomic>
#include <cstdint>
#include <string>

namespace smddp::core {

// A number of the calling thread that no other thread of this process gets, ever.
inline uint64_t thread_number();

class ThreadRule {
 public:
  void reset(smddp_thread_mode_t mode) {
    mode_ = mode;
    owner_.store(0, std::memory_order_relaxed);
    busy_.store(0, std::memory_order_relaxed);
  }
  smddp_thread_mode_t mode() const { return mode_; }

  // Throws INVALID_USAGE if this thread may not call a collective now; else leave() must follow.
  void enter(const char* function, const char* comm_name) {
    if (mode_ == SMDDP_THREAD_OWNED && owner_.load(std::memory_order_relaxed) != thread_number()) take_over(function, comm_name);
    if (busy_.exchange(1, std::memory_order_acquire)) refuse_overlap(function, comm_name);
  }
  void leave() { busy_.store(0, std::memory_order_release); }

  // For the end of a communicator: another thread may still be on its way out of a call.
  void wait_until_left(int64_t deadline) const {
    while (busy_.load(std::memory_order_acquire) && now_ns() < deadline) sched_yield();
  }

 private:
  void take_over(const char* function, const char* comm_name);
  [[noreturn]] static void refuse_overlap(const char* function, const char* comm_name);

  smddp_thread_mode_t mode_ = SMDDP_THREAD_OWNED;
  std::atomic<uint64_t> owner_{0};
  std::atomic<uint32_t> busy_{0};
};

namespace detail {
extern thread_local uint64_t t_thread_number __attribute__((tls_model("initial-exec")));
uint64_t new_thread_number();
}  // namespace detail

inline uint64_t thread_number() {
  const uint64_t number = detail::t_thread_number;
  return number ? number : detail::new_thread_number();
}

}  // namespace smddp::core
