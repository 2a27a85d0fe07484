// Allreduce in three stages, pipelined by segment: reduce-scatter inside each node, allreduce of each share along its rail (the ranks
// with the same local rank on all nodes), gather inside each node.
// Cost between nodes for N nodes of L ranks and n bytes: what the rail's algorithm costs for n / L bytes; inside a node as one node
// allreduce. Use it where nodes have several ranks and n is large enough to be cut. After the hierarchical schemes of MPI libraries
// and Herring (Amazon, 2021).
#pragma once

#include "coll/schedule.hpp"

namespace smddp::coll {

// rank and size: in the communicator. With one node the rail is empty, and two NODE steps remain.
Schedule hierarchical_allreduce(int rank, int size);

}  // namespace smddp::coll
