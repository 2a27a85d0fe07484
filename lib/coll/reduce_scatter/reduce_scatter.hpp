// The algorithms of reduce_scatter. n is the count of one rank's block.
#pragma once

#include "coll/builder.hpp"
#include "coll/cost.hpp"

namespace smddp::coll {

Schedule one_hop_reduce_scatter(const Position& position);
Cost one_hop_reduce_scatter_cost(const Shape& shape);
Schedule ring_reduce_scatter(const Position& position);
Cost ring_reduce_scatter_cost(const Shape& shape);
Schedule recursive_halving_reduce_scatter(const Position& position);  // p is a power of two
Cost recursive_halving_reduce_scatter_cost(const Shape& shape);
bool recursive_halving_fits(const Shape& shape);
Schedule hierarchical_reduce_scatter(const Position& position);
Cost hierarchical_reduce_scatter_cost(const Shape& shape);

}  // namespace smddp::coll
