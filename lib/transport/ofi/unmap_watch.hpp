// Tells which ranges of memory have been unmapped, emptied or moved, by userfaultfd. Invariant: once munmap() has returned to the
// program, take() reports the range.
//
// The kernel lets munmap() return when its event has been read; the thread reads and notes it under one lock with take(). The ranges
// are registered for write protection, which is never switched on: no access to them faults.
#pragma once

#include "base/unique_fd.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace smddp::transport::ofi {

class UnmapWatch {
 public:
  // Null where the kernel does not allow it.
  static std::unique_ptr<UnmapWatch> start();
  ~UnmapWatch();

  // From now on tells of this range, of whole pages. False: the kernel cannot (files, special mappings).
  bool add(uintptr_t begin, uintptr_t end);
  // What was reported since the last call, as [begin, end).
  std::vector<std::pair<uintptr_t, uintptr_t>> take();

 private:
  UnmapWatch(UniqueFd events, UniqueFd stop);
  void note(uintptr_t begin, uintptr_t end);
  void serve();

  UniqueFd events_, stop_;
  std::mutex mutex_;
  std::vector<std::pair<uintptr_t, uintptr_t>> gone_;
  std::thread thread_;
};

}  // namespace smddp::transport::ofi
