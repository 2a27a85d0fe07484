// Windows: staging memory of one rank for large operations on private buffers. A window is leased when an operation starts and never
// waited for (the pool grows), hence operations posted in different orders on two communicators cannot block each other.
#pragma once

#include "node/arena.hpp"

#include <vector>

namespace smddp::node {

constexpr int kWindowSegments = 4;  // segments in flight

// Bytes of one share's segment in a window for so many ranks: a window has kWindowSegments × (ranks + 1) of them.
size_t window_segment_bytes(int ranks);
size_t window_bytes(int ranks);

class WindowPool {
 public:
  explicit WindowPool(Arena& arena, Heap& heap) : arena_(arena), heap_(heap) {}

  // Offset of at least bytes; kNoOffset if the heap is full. One thread at a time uses a pool's window, any thread may lease.
  uint64_t lease(size_t bytes);
  void give_back(uint64_t offset);

  // Whether a communicator may keep its window between operations, to spare waiting for its readers at the end of each.
  bool may_keep() const { return leased_ <= kKept; }

 private:
  static constexpr size_t kKept = 4;
  struct Window {
    uint64_t offset;
    size_t bytes;
  };
  Arena& arena_;
  Heap& heap_;
  std::mutex mutex_;
  std::vector<Window> idle_;
  std::atomic<size_t> leased_{0};
};

}  // namespace smddp::node
