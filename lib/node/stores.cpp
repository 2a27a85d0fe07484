#include "node/stores.hpp"

#include "base/clock.hpp"
#include "reduce/reduce.hpp"

#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <csignal>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>

namespace smddp::node {
namespace {

constexpr size_t kSizes[] = {4096, 32768};
constexpr size_t kLargest = kSizes[std::size(kSizes) - 1];
constexpr int kRounds = 32;                   // of each size: once through the caches, once past them
constexpr int kFewest = 5;                    // rounds that tell anything
constexpr int64_t kPatienceNs = 30'000'000;   // for everything
constexpr double kWorthIt = 0.9;              // of the time through the caches

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

// A buffer that two threads, each on its CPU, write and read in turns.
class RoundTrips {
 public:
  RoundTrips(int writer_cpu, int reader_cpu) {
    std::thread reader([&] { read(reader_cpu); });
    try {
      std::thread([&] { write(writer_cpu); }).join();
    } catch (const std::system_error&) {
      over_.store(true);
    }
    reader.join();
  }

  // Whether most rounds of a size were faster past the caches. Rounds are compared, not times: other work disturbs both kinds alike.
  bool streams(size_t size) const { return rounds_[size] >= kFewest && 2 * won_[size] > rounds_[size]; }

 private:
  void write(int cpu) {
    if (move_to(cpu)) {
      for (int i = 0; i < kRounds && !over_.load(std::memory_order_relaxed); ++i) {
        for (size_t size = 0; size < std::size(kSizes); ++size) {
          int64_t took_ns[2];
          for (const bool stream : {false, true}) {
            const int64_t start = now_ns();
            reduce::copy(shared_, private_, kSizes[size], stream);
            bytes_ = kSizes[size];
            turn_.fetch_add(1, std::memory_order_acq_rel);
            if (!await_turn(0)) break;
            took_ns[stream] = now_ns() - start;
          }
          if (over_.load(std::memory_order_relaxed)) break;
          ++rounds_[size];
          won_[size] += static_cast<double>(took_ns[true]) < kWorthIt * static_cast<double>(took_ns[false]);
        }
      }
    }
    over_.store(true, std::memory_order_release);
  }

  void read(int cpu) {
    if (!move_to(cpu)) over_.store(true, std::memory_order_release);
    while (await_turn(1)) {
      std::memcpy(copy_, shared_, bytes_);
      turn_.fetch_add(1, std::memory_order_acq_rel);
    }
  }

  // Until the turn is odd (of the reader) or even; false when it will not come.
  bool await_turn(uint32_t whose) {
    for (int i = 0;; ++i) {
      if (turn_.load(std::memory_order_acquire) % 2 == whose) return true;
      if (over_.load(std::memory_order_acquire)) return false;
      if (i % 64 == 63 && now_ns() >= limit_) over_.store(true, std::memory_order_release);
    }
  }

  alignas(4096) unsigned char shared_[kLargest] = {};
  alignas(4096) unsigned char private_[kLargest] = {};
  alignas(4096) unsigned char copy_[kLargest] = {};
  size_t bytes_ = 0;
  int rounds_[std::size(kSizes)] = {}, won_[std::size(kSizes)] = {};
  const int64_t limit_ = now_ns() + kPatienceNs;
  alignas(128) std::atomic<uint32_t> turn_{0};
  std::atomic<bool> over_{false};
};

uint64_t measure(int writer_cpu, int reader_cpu) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  uint64_t from = kNeverStream;
  try {
    const auto trips = std::make_unique<RoundTrips>(writer_cpu, reader_cpu);
    for (size_t size = std::size(kSizes); size-- > 0 && trips->streams(size);) from = kSizes[size];
  } catch (const std::exception&) {  // no memory or no thread: whoever needs one next says so
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
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
