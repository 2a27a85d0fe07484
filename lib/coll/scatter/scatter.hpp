// The algorithms of scatter. n is the count of one block.
#pragma once

#include "coll/builder.hpp"
#include "coll/cost.hpp"

namespace smddp::coll {

Schedule one_hop_scatter(const Position& position);
Cost one_hop_scatter_cost(const Shape& shape);
Schedule binomial_scatter(const Position& position);
Cost binomial_scatter_cost(const Shape& shape);
Schedule hierarchical_scatter(const Position& position);
Cost hierarchical_scatter_cost(const Shape& shape);

}  // namespace smddp::coll
