// The algorithms of broadcast. There is one buffer, the receive buffer, on all ranks.
#pragma once

#include "coll/builder.hpp"
#include "coll/cost.hpp"

namespace smddp::coll {

Schedule binomial_broadcast(const Position& position);
Cost binomial_broadcast_cost(const Shape& shape);
Schedule one_hop_broadcast(const Position& position);
Cost one_hop_broadcast_cost(const Shape& shape);
Schedule scatter_allgather_broadcast(const Position& position);
Cost scatter_allgather_broadcast_cost(const Shape& shape);
Schedule hierarchical_broadcast(const Position& position);
Cost hierarchical_broadcast_cost(const Shape& shape);
Schedule hierarchical_one_hop_broadcast(const Position& position);
Cost hierarchical_one_hop_broadcast_cost(const Shape& shape);
Schedule hierarchical_scatter_allgather_broadcast(const Position& position);
Cost hierarchical_scatter_allgather_broadcast_cost(const Shape& shape);

// Parts of a schedule, among peers: this rank is peers[index], the data is at peers[root]. The last one needs peers.size() − 1 parts.
void add_binomial_broadcast(Builder& builder, const std::vector<int>& peers, int index, int root);
void add_one_hop_broadcast(Builder& builder, const std::vector<int>& peers, int index, int root);
void add_scatter_allgather(Builder& builder, const std::vector<int>& peers, int index, int root);

}  // namespace smddp::coll
