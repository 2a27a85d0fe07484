// Page-granular allocator of one rank's part of the arena. Only its own process allocates from it; the bookkeeping is private memory.
// Invariant: blocks never overlap and lie inside [begin, begin + bytes).
#pragma once

#include <cstdint>
#include <map>
#include <mutex>

namespace smddp::node {

class Heap {
 public:
  // Blocks of users leave a quarter of the heap to the library, whose operations need windows.
  enum class Use { kLibrary, kUser };

  Heap(uint64_t begin, uint64_t bytes);

  // Offset of a block of at least bytes (rounded up to pages); kNoOffset if none fits. Any thread.
  uint64_t allocate(uint64_t bytes, Use use = Use::kLibrary);

  // Size of the block that begins at offset; 0 if none does.
  uint64_t block_bytes(uint64_t offset) const;

  // Frees the block; returns its size, 0 if there is none at this offset.
  uint64_t free(uint64_t offset);

  uint64_t bytes() const { return bytes_; }

  // What is in use; of users: what they have, and what they may have.
  uint64_t used_bytes() const;
  uint64_t user_bytes() const;
  uint64_t user_limit() const { return bytes_ / 4 * 3; }

 private:
  struct Block {
    uint64_t bytes;
    Use use;
  };

  const uint64_t bytes_;
  mutable std::mutex mutex_;
  std::map<uint64_t, uint64_t> free_;  // offset → bytes, never adjacent
  std::map<uint64_t, Block> used_;
  uint64_t used_bytes_ = 0, user_bytes_ = 0;
};

}  // namespace smddp::node
