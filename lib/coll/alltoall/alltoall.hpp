// The algorithms of alltoall, for buffers apart: in place, sendbuf is copied aside first. n is the count of one block.
#pragma once

#include "coll/builder.hpp"
#include "coll/cost.hpp"

namespace smddp::coll {

Schedule one_hop_alltoall(const Position& position);
Cost one_hop_alltoall_cost(const Shape& shape);
Schedule pairwise_alltoall(const Position& position);
Cost pairwise_alltoall_cost(const Shape& shape);
Schedule hierarchical_alltoall(const Position& position);
Cost hierarchical_alltoall_cost(const Shape& shape);

}  // namespace smddp::coll
