#include "core/descriptors.hpp"

#include "base/error.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <filesystem>

namespace smddp::core {
namespace {

// Of each rank of the node a doorbell, a connection and a process descriptor; the arena, its listener, the monitor's own two, and what is
// open for a moment.
rlim_t needed_for(size_t local_ranks) { return 3 * local_ranks + 8; }

// Those of this process; 0 where /proc does not tell.
rlim_t open_now() {
  std::error_code error;
  std::filesystem::directory_iterator entry("/proc/self/fd", error);
  rlim_t count = 0;
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) ++count;
  return count;
}

}  // namespace

void ensure_descriptors(size_t local_ranks, int rank) {
  rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  const rlim_t open = open_now(), more = needed_for(local_ranks), needed = open + more, before = limit.rlim_cur;
  if (before >= needed) return;
  limit.rlim_cur = std::min<rlim_t>(needed, limit.rlim_max);
  if (limit.rlim_cur >= needed && setrlimit(RLIMIT_NOFILE, &limit) == 0) return;
  throw Error(SMDDP_ERR_RESOURCE,
              format("rank %d has %llu file descriptors open and needs up to %llu more for %zu ranks on this node, %llu together; the limit is %llu "
                     "(hard %llu); see ulimit -n", rank, static_cast<unsigned long long>(open), static_cast<unsigned long long>(more), local_ranks,
                     static_cast<unsigned long long>(needed), static_cast<unsigned long long>(before), static_cast<unsigned long long>(limit.rlim_max)));
}

}  // namespace smddp::core
