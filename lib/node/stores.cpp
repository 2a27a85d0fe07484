#include "node/stores.hpp"

#include "base/clock.hpp"
#include "base/signal_block.hpp"
#include "reduce/reduce.hpp"

#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>

namespace smddp::node {
namespace {

// The largest is more than a core keeps to itself: what it has changed may be dear to fetch from its own cache, yet cheap from a shared one.
constexpr size_t kSizes[] = {4096, 32768, 524288};
constexpr int kRounds[] = {32, 32, 12};       // of each size: once through the caches, once past them
constexpr size_t kLargest = kSizes[std::size(kSizes) - 1];
constexpr int kFewest = 5;                    // rounds that tell anything
constexpr int64_t kPatienceNs = 30'000'000;   // for everything
constexpr double kWorthIt = 0.7;              // of the time through the caches

bool move_to(int cpu) {
  const size_t bytes = CPU_ALLOC_SIZE(static_cast<size_t>(cpu) + 1);
  cpu_set_t* set = CPU_ALLOC(static_cast<size_t>(cpu) + 1);
  if (!set) return false;
  CPU_ZERO_S(bytes, set);
  CPU_SET_S(static_cast<size_t>(cpu), bytes, set);
  const bool moved = sched_setaffinity(0, bytes, set) == 0;  // of this thread
  CPU_FREE(set);
  return moved;
}

// Two threads, each on its CPU, write a buffer for the other and read the other's, in step.
class Exchange {
 public:
  Exchange(int cpu, int other_cpu) {
    std::thread other([&] { run(1, other_cpu); });
    try {
      std::thread([&] { run(0, cpu); }).join();
    } catch (const std::system_error&) {
      over_.store(true);
    }
    other.join();
  }

  // Whether most rounds of a size were faster past the caches. Rounds are compared, not times: other work disturbs both kinds alike.
  bool streams(size_t size) const { return rounds_[size] >= kFewest && 2 * won_[size] > rounds_[size]; }

 private:
  void run(int me, int cpu) {
    uint32_t turn = 0;
    bool goes_on = move_to(cpu);
    for (size_t size = 0; size < std::size(kSizes); ++size) {
      for (int i = 0; i < kRounds[size] && goes_on; ++i) {
        int64_t took_ns[2];
        for (const bool stream : {false, true}) {
          const int64_t start = now_ns();
          goes_on = goes_on && step(me, turn++, kSizes[size], stream);
          took_ns[stream] = now_ns() - start;
        }
        if (me != 0 || !goes_on) continue;
        ++rounds_[size];
        won_[size] += static_cast<double>(took_ns[true]) < kWorthIt * static_cast<double>(took_ns[false]);
      }
    }
    if (!goes_on) over_.store(true, std::memory_order_release);
  }

  bool step(int me, uint32_t turn, size_t bytes, bool stream) {
    Side& own = sides_[me];
    const Side& other = sides_[1 - me];
    reduce::copy(own.shared[turn % 2], own.from, bytes, stream);
    own.turn.store(turn + 1, std::memory_order_release);
    for (int i = 1; other.turn.load(std::memory_order_acquire) <= turn; ++i) {
      if (over_.load(std::memory_order_acquire) || (i % 64 == 0 && now_ns() >= limit_)) return false;
    }
    std::memcpy(own.to, other.shared[turn % 2], bytes);
    return true;
  }

  struct Side {
    alignas(4096) unsigned char shared[2][kLargest] = {};  // in turns: the other one may still read the one before
    alignas(4096) unsigned char from[kLargest] = {};
    alignas(4096) unsigned char to[kLargest] = {};
    alignas(128) std::atomic<uint32_t> turn{0};
  };
  Side sides_[2];
  int rounds_[std::size(kSizes)] = {}, won_[std::size(kSizes)] = {};
  const int64_t limit_ = now_ns() + kPatienceNs;
  std::atomic<bool> over_{false};
};

uint64_t measure(int cpu, int other_cpu) {
  const SignalBlock block;
  uint64_t from = kNeverStream;
  try {
    const auto exchange = std::make_unique<Exchange>(cpu, other_cpu);
    for (size_t size = std::size(kSizes); size-- > 0 && exchange->streams(size);) from = kSizes[size];
  } catch (const std::exception&) {  // no memory or no thread: whoever needs one next says so
  }
  return from;
}

}  // namespace

uint64_t measured_stream_bytes(const std::vector<int>& cpus) {
  if (cpus.size() < 2) return kNeverStream;
  static std::mutex mutex;
  static std::map<std::pair<int, int>, uint64_t>& known = *new std::map<std::pair<int, int>, uint64_t>;
  const std::pair<int, int> pair(cpus.front(), cpus.back());
  const std::lock_guard<std::mutex> lock(mutex);
  const auto found = known.find(pair);
  return found != known.end() ? found->second : known[pair] = measure(pair.first, pair.second);
}

}  // namespace smddp::node
