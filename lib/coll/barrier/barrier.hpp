// The algorithms of barrier: messages without data.
#pragma once

#include "coll/builder.hpp"
#include "coll/cost.hpp"

namespace smddp::coll {

Schedule dissemination_barrier(const Position& position);
Cost dissemination_barrier_cost(const Shape& shape);
Schedule hierarchical_barrier(const Position& position);
Cost hierarchical_barrier_cost(const Shape& shape);

// Part of a schedule, among peers: this rank is peers[index]. Returns its receives; its sends come after the steps `before`.
std::vector<uint32_t> add_dissemination(Builder& builder, const std::vector<int>& peers, int index, const std::vector<uint32_t>& before);

}  // namespace smddp::coll
