#include "node/window.hpp"

#include <algorithm>

namespace smddp::node {

size_t window_segment_bytes(int ranks) {
  // About 1.5 MiB in all, which stays in a core's second-level cache with its neighbours' parts; at least a page each.
  constexpr size_t kBudget = 1536 * 1024;
  size_t bytes = 128 * 1024;
  while (bytes > kPageBytes && bytes * kWindowSegments * static_cast<size_t>(ranks + 1) > kBudget) bytes /= 2;
  return bytes;
}

size_t window_bytes(int ranks) { return window_segment_bytes(ranks) * kWindowSegments * static_cast<size_t>(ranks + 1); }

uint64_t WindowPool::lease(size_t bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (auto it = idle_.begin(); it != idle_.end(); ++it) {
    if (it->bytes < bytes) continue;
    const uint64_t offset = it->offset;
    idle_.erase(it);
    ++leased_;
    return offset;
  }
  const uint64_t offset = heap_.allocate(bytes);
  if (offset != kNoOffset) ++leased_;
  return offset;
}

void WindowPool::give_back(uint64_t offset) {
  const std::lock_guard<std::mutex> lock(mutex_);
  --leased_;
  const size_t bytes = heap_.block_bytes(offset);
  if (idle_.size() < kKept) {
    idle_.push_back({offset, bytes});
    return;
  }
  arena_.discard(offset, bytes);
  heap_.free(offset);
}

}  // namespace smddp::node
