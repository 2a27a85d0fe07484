// The algorithms of gather. n is the count of one block.
#pragma once

#include "coll/builder.hpp"
#include "coll/cost.hpp"

namespace smddp::coll {

Schedule one_hop_gather(const Position& position);
Cost one_hop_gather_cost(const Shape& shape);
Schedule binomial_gather(const Position& position);
Cost binomial_gather_cost(const Shape& shape);
Schedule hierarchical_gather(const Position& position);
Cost hierarchical_gather_cost(const Shape& shape);

}  // namespace smddp::coll
