// The memory that the ranks of a node share: one sparse memfd without a name, mapped once per process however many of its ranks live
// there (so that ranks as threads see the same addresses). Invariant: the mapping lives as long as anything that points into it.
#pragma once

#include "base/unique_fd.hpp"
#include "node/heap.hpp"
#include "node/protocol.hpp"

#include <sys/types.h>

#include <memory>
#include <mutex>
#include <vector>

namespace smddp::node {

class Arena {
 public:
  // A new memfd for so many ranks, its header written. heap_bytes: of each rank. Throws RESOURCE, SYSTEM.
  static UniqueFd create(int ranks, uint64_t heap_bytes);

  // Maps it, or returns the mapping that this process has already. Throws VERSION, SYSTEM.
  static std::shared_ptr<Arena> open(UniqueFd fd);

  // The mapping that holds this address; nullptr if none does. Any thread.
  static std::shared_ptr<Arena> find(const void* pointer);

  Arena(UniqueFd fd, unsigned char* base, size_t bytes);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  ArenaHeader& header() const { return *reinterpret_cast<ArenaHeader*>(base_); }
  RankLine& rank_line(int local_rank) const { return reinterpret_cast<RankLine*>(base_ + sizeof(ArenaHeader))[local_rank]; }
  unsigned char* at(uint64_t offset) const { return base_ + offset; }

  // Offset of a buffer that lies wholly in some rank's heap, else kNoOffset.
  uint64_t offset_of(const void* pointer, size_t bytes) const {
    const uint64_t offset = static_cast<uint64_t>(static_cast<const unsigned char*>(pointer) - base_);
    return offset >= heap_begin_ && offset < bytes_ && bytes <= bytes_ - offset ? offset : kNoOffset;
  }

  // The heap of a rank of this process.
  Heap& heap(int local_rank);

  // Gives the pages of a block back to the system; they read as zero afterwards.
  void discard(uint64_t offset, uint64_t bytes) const;

  // smddp_alloc and smddp_free: zeroed blocks that keep the mapping alive. allocate returns nullptr if the heap is full, release false
  // if the pointer is not one of them. A forked child that releases a block of its parent only forgets it.
  static void* allocate(const std::shared_ptr<Arena>& arena, int local_rank, size_t bytes);
  static bool release(void* pointer);

  // Around fork. A child's mappings become private: what it writes stays with it, and it can release blocks whatever other threads of
  // its parent were doing.
  static void before_fork();
  static void after_fork_in_parent();
  static void after_fork_in_child();

 private:
  UniqueFd fd_;
  const pid_t owner_;
  bool is_private_ = false;  // in a forked child
  unsigned char* base_;
  size_t bytes_;
  uint64_t heap_begin_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Heap>> heaps_;
};

}  // namespace smddp::node
