#include "node/heap.hpp"

#include "node/protocol.hpp"

namespace smddp::node {

Heap::Heap(uint64_t begin, uint64_t bytes) : bytes_(bytes) { free_[begin] = bytes; }

uint64_t Heap::allocate(uint64_t bytes, Use use) {
  if (bytes > UINT64_MAX - kPageBytes) return kNoOffset;
  const uint64_t size = (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
  const std::lock_guard<std::mutex> lock(mutex_);
  if (use == Use::kUser && size > user_limit() - user_bytes_) return kNoOffset;
  for (auto it = free_.begin(); it != free_.end(); ++it) {
    if (it->second < size) continue;
    const uint64_t offset = it->first;
    const uint64_t rest = it->second - size;
    free_.erase(it);
    if (rest) free_[offset + size] = rest;
    used_[offset] = {size, use};
    used_bytes_ += size;
    if (use == Use::kUser) user_bytes_ += size;
    return offset;
  }
  return kNoOffset;
}

uint64_t Heap::block_bytes(uint64_t offset) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto it = used_.find(offset);
  return it == used_.end() ? 0 : it->second.bytes;
}

uint64_t Heap::free(uint64_t offset) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto it = used_.find(offset);
  if (it == used_.end()) return 0;
  const uint64_t size = it->second.bytes;
  if (it->second.use == Use::kUser) user_bytes_ -= size;
  used_bytes_ -= size;
  used_.erase(it);
  auto next = free_.emplace(offset, size).first;
  const auto after = std::next(next);
  if (after != free_.end() && next->first + next->second == after->first) {
    next->second += after->second;
    free_.erase(after);
  }
  if (next != free_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == next->first) {
      before->second += next->second;
      free_.erase(next);
    }
  }
  return size;
}

uint64_t Heap::used_bytes() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return used_bytes_;
}

uint64_t Heap::user_bytes() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return user_bytes_;
}

}  // namespace smddp::node
