// How a thread waits between fruitless polls: it spins, then yields its core, then is told to sleep. No clock is read before 256 polls.
#pragma once

#include "base/clock.hpp"

#include <sched.h>

#include <cstdint>

namespace smddp::engine {

struct WaitPolicy {
  bool oversubscribed = false;  // more ranks than cores: one poll, then yield
  int64_t spin_ns = 20000;
  int64_t yield_ns = 1500000;
};

inline void cpu_relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

class Backoff {
 public:
  explicit Backoff(const WaitPolicy& policy) : policy_(policy) {}

  void reset() { polls_ = 0; }

  // Spins or yields once and returns true; false: it is time to sleep.
  bool pause() {
    ++polls_;
    if (!policy_.oversubscribed && polls_ <= kPolls) {
      cpu_relax();
      return true;
    }
    if (polls_ == (policy_.oversubscribed ? 1u : kPolls + 1)) start_ns_ = now_ns();
    const bool look = (polls_ & 15) == 0;
    if (look) elapsed_ns_ = now_ns() - start_ns_;
    else if (polls_ <= kPolls + 1) elapsed_ns_ = 0;
    if (!policy_.oversubscribed && elapsed_ns_ < policy_.spin_ns) {
      cpu_relax();
      return true;
    }
    if (elapsed_ns_ < policy_.spin_ns + policy_.yield_ns) {
      sched_yield();
      ++yields_;
      return true;
    }
    return false;
  }

  // Whether enough polls have passed that a look at the clock costs nothing.
  bool long_wait() const { return polls_ > kPolls; }
  uint64_t yields() const { return yields_; }

 private:
  static constexpr uint32_t kPolls = 256;
  const WaitPolicy& policy_;
  uint32_t polls_ = 0;
  uint64_t yields_ = 0;
  int64_t start_ns_ = 0, elapsed_ns_ = 0;
};

}  // namespace smddp::engine
