// Hierarchical: a barrier inside each node, then by dissemination among the lowest ranks of the nodes, then again inside each node, which
// lets the others go.
// Cost for N nodes: as dissemination among N ranks.
// Use it: where nodes have several ranks.
#include "coll/barrier/barrier.hpp"
#include "coll/math.hpp"
#include "coll/node_blocks.hpp"

namespace smddp::coll {

Schedule hierarchical_barrier(const Position& position) {
  const Shape& shape = position.shape;
  Builder builder(Collective::kBarrier, "hierarchical", position);
  const bool alone = shape.node_of(position.rank).size() == 1;
  std::vector<uint32_t> before;
  if (!alone) before.push_back(builder.node(NodeStep::kBarrier, kNothing, kNothing));
  if (shape.local_of(position.rank) == 0) {
    std::vector<int> lowest;
    for (const auto& ranks : shape.nodes) lowest.push_back(ranks[0]);
    const std::vector<uint32_t> receives = add_dissemination(builder, lowest, shape.places[static_cast<size_t>(position.rank)].node, before);
    before.insert(before.end(), receives.begin(), receives.end());
  }
  if (!alone) {
    const uint32_t release = builder.node(NodeStep::kBarrier, kNothing, kNothing);
    for (const uint32_t step : before) builder.order(step, release);
  }
  return builder.schedule;
}

Cost hierarchical_barrier_cost(const Shape& shape) {
  const int nodes = shape.node_count();
  return {.rounds = static_cast<double>(spread_rounds(nodes)), .messages = static_cast<double>(ceil_log2(nodes)), .node_steps = largest_node(shape) > 1 ? 2.0 : 0.0};
}

}  // namespace smddp::coll
