// The algorithms of allgather. n is the count of one rank's block.
#pragma once

#include "coll/builder.hpp"
#include "coll/cost.hpp"

namespace smddp::coll {

Schedule ring_allgather(const Position& position);
Cost ring_allgather_cost(const Shape& shape);
Schedule bruck_allgather(const Position& position);
Cost bruck_allgather_cost(const Shape& shape);
Schedule one_hop_allgather(const Position& position);
Cost one_hop_allgather_cost(const Shape& shape);
Schedule hierarchical_allgather(const Position& position);
Cost hierarchical_allgather_cost(const Shape& shape);

}  // namespace smddp::coll
