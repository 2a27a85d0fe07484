// A network inside one process: a mailbox for each rank, and faults drawn from a seed. Invariant: whatever the faults are, a packet or
// put that was accepted arrives, unless a rank was killed or the network cut.
#pragma once

#include "base/clock.hpp"
#include "base/unique_fd.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <random>
#include <vector>

namespace smddp::transport::loopback {

// Chances are from 0 to 1, for each packet or put.
struct Faults {
  uint64_t seed = 1;
  double delay = 0;           // stays in the network for up to max_delay turns, turns being calls of progress() by its receiver
  int max_delay = 16;
  bool reorder = false;       // what arrives in one turn arrives in any order
  double duplicate = 0;       // a packet arrives twice, a put is placed twice
  double again = 0;           // a call is refused
  double late_conceal = 0;    // a call of conceal() is answered with no
  bool hold_puts = false;     // the network never gives the memory of a put back
  bool break_puts = false;    // no put arrives, and the network says so to its sender
  size_t queue_items = 4096;  // that a mailbox holds before senders are refused
  size_t packet_bytes = 16384 + 64;
  size_t put_bytes = 1 << 20;  // 0: there are no puts
  double bytes_per_us = 0;    // that a rank gets; 0: all at once
  uint64_t cut_after = 0;     // items of all ranks; from then on nothing arrives anywhere
  int victim = -1;            // is killed after this many items of all ranks
  uint64_t kill_after = 0;
};

struct Item {
  uint64_t due = 0;  // turn of the receiver
  bool put = false, twice = false;
  uint64_t key = 0, offset = 0;
  uint32_t immediate = 0;
  std::vector<std::byte> bytes;
};

class Hub {
 public:
  explicit Hub(int ranks, const Faults& faults = {});

  int size() const { return static_cast<int>(boxes_.size()); }
  const Faults& faults() const { return faults_; }

  // From now on nothing arrives from or at this rank, and nobody is told.
  void kill(int rank) { boxes_[static_cast<size_t>(rank)]->dead.store(true, std::memory_order_relaxed); }
  bool dead(int rank) const { return boxes_[static_cast<size_t>(rank)]->dead.load(std::memory_order_relaxed); }

  // From now on nothing arrives anywhere, and nobody is told. What is under way is lost.
  void cut() { cut_.store(true, std::memory_order_relaxed); }
  bool is_cut() const { return cut_.load(std::memory_order_relaxed); }

  // False: the mailbox is full, or the draw was against it.
  bool post(int from, int to, Item&& item);
  // What is due for this rank in its next turn.
  void take(int rank, std::vector<Item>& items);

  bool draw(int rank, double chance);      // by the thread of this rank
  int some_turns(int rank);

  // Before the thread sleeps on fd(): the next item makes it readable.
  bool arm(int rank);  // false: there are items already
  bool waits(int rank);  // items that are not due yet
  int fd(int rank) const { return boxes_[static_cast<size_t>(rank)]->bell.get(); }

 private:
  struct Box {
    std::mutex mutex;
    std::vector<Item> items;
    uint64_t turn = 0;
    int64_t paid_until = 0;  // now_ns() at which what was taken has arrived at the network's speed
    std::mt19937_64 network, own;  // under the mutex; of the rank's thread
    std::atomic<bool> dead{false};
    bool sleeping = false;
    UniqueFd bell;
  };

  const Faults faults_;
  std::atomic<uint64_t> posted_{0};
  std::atomic<bool> cut_{false};
  std::vector<std::unique_ptr<Box>> boxes_;
};

}  // namespace smddp::transport::loopback
