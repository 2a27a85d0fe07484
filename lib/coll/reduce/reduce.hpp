// The algorithms of reduce. Ranks other than the root have no receive buffer: partial sums are in scratch.
#pragma once

#include "coll/builder.hpp"
#include "coll/cost.hpp"

namespace smddp::coll {

Schedule binomial_reduce(const Position& position);
Cost binomial_reduce_cost(const Shape& shape);
Schedule one_hop_reduce(const Position& position);
Cost one_hop_reduce_cost(const Shape& shape);
Schedule sharded_reduce(const Position& position);
Cost sharded_reduce_cost(const Shape& shape);
Schedule hierarchical_reduce(const Position& position);
Cost hierarchical_reduce_cost(const Shape& shape);

// Part of a schedule: the binomial tree among peers (this rank is peers[index]) for the vector in `own`; the result at peers[root], in
// its receive buffer. Takes scratch slots after those that the schedule has.
void add_binomial_reduce(Builder& builder, const std::vector<int>& peers, int index, int root, const Slice& own);

}  // namespace smddp::coll
