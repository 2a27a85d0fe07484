// Room for the file descriptors that a rank holds for the ranks of its node.
#pragma once

#include <cstddef>

namespace smddp::core {

// Raises the soft limit of open files as far as this process's descriptors and those to come need it. Throws RESOURCE, with the numbers,
// where the hard limit forbids it.
void ensure_descriptors(size_t local_ranks, int rank);

}  // namespace smddp::core
