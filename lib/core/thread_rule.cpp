#include "core/thread_rule.hpp"

#include "base/error.hpp"

#include <mutex>
#include <set>

namespace smddp::core {
namespace {

struct Alive {
  std::mutex mutex;
  std::set<uint64_t> numbers;
  uint64_t last = 0;
};

Alive& alive() {
  static Alive* const instance = new Alive;  // never destroyed: threads end after static objects do
  return *instance;
}

// Forgets the thread's number when the thread ends.
struct Membership {
  uint64_t number = 0;
  ~Membership() {
    const std::lock_guard<std::mutex> lock(alive().mutex);
    alive().numbers.erase(number);
  }
};

}  // namespace

namespace detail {

thread_local uint64_t t_thread_number = 0;

uint64_t new_thread_number() {
  static thread_local Membership membership;
  const std::lock_guard<std::mutex> lock(alive().mutex);
  t_thread_number = membership.number = ++alive().last;
  alive().numbers.insert(membership.number);
  return membership.number;
}

}  // namespace detail

void ThreadRule::take_over(const char* function, const char* comm_name) {
  const uint64_t self = thread_number();
  const std::lock_guard<std::mutex> lock(alive().mutex);
  const uint64_t owner = owner_.load(std::memory_order_relaxed);
  if (owner && alive().numbers.count(owner)) {
    throw Error(SMDDP_ERR_INVALID_USAGE,
                format("%s: comm '%s' belongs to another thread, which called the first collective on it; give each thread a communicator of "
                       "its own (smddp_comm_dup), or order the calls yourself and say so with SMDDP_THREAD_ORDERED", function, comm_name));
  }
  owner_.store(self, std::memory_order_relaxed);
}

void ThreadRule::refuse_overlap(const char* function, const char* comm_name) {
  throw Error(SMDDP_ERR_INVALID_USAGE, format("%s: another thread is in a collective on comm '%s' at this moment", function, comm_name));
}

}  // namespace smddp::core
