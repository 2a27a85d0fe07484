// The algorithms of allreduce; each .cpp says what it does, what it costs and when to use it.
#pragma once

#include "coll/builder.hpp"
#include "coll/cost.hpp"

namespace smddp::coll {

Schedule sharded_allreduce(const Position& position);
Cost sharded_allreduce_cost(const Shape& shape);
Schedule one_hop_allreduce(const Position& position);
Cost one_hop_allreduce_cost(const Shape& shape);
Schedule ring_allreduce(const Position& position);
Cost ring_allreduce_cost(const Shape& shape);
Schedule recursive_doubling_allreduce(const Position& position);
Cost recursive_doubling_allreduce_cost(const Shape& shape);
Schedule halving_doubling_allreduce(const Position& position);
Cost halving_doubling_allreduce_cost(const Shape& shape);
Schedule hierarchical_allreduce(const Position& position);
Cost hierarchical_allreduce_cost(const Shape& shape);
Schedule hierarchical_one_hop_allreduce(const Position& position);
Cost hierarchical_one_hop_allreduce_cost(const Shape& shape);
Schedule servers_allreduce(const Position& position);  // also of a server, whose number follows the ranks'
Cost servers_allreduce_cost(const Shape& shape);
bool servers_fit(const Shape& shape);

// Part of a schedule: the sharded allreduce among peers (this rank is peers[index]) of shares first … first + peers.size() − 1 of the
// vector, from `source` into the receive buffer. Needs peers.size() − 1 slots of one share.
void add_sharded(Builder& builder, const std::vector<int>& peers, int index, uint32_t first, Buffer source);

// The same in one hop, of share `first` alone. Needs peers.size() − 1 slots of one share.
void add_one_hop(Builder& builder, const std::vector<int>& peers, int index, uint32_t first, Buffer source);

}  // namespace smddp::coll
