// Hierarchical: the root and the lowest rank of every other node broadcast among themselves, then each of them inside its node; the two
// stages are pipelined by segment. Between nodes: a binomial tree, one hop for small vectors, scatter and allgather for large ones.
// Cost for N nodes, binomial: ⌊log2 N⌋ messages in a row, n ⌈log2 N⌉ bytes sent; in one hop: 1 message, n (N − 1) bytes; scatter and
// allgather: 2 messages (1 for two nodes), n bytes.
// Use it: where nodes have several ranks.
#include "coll/broadcast/broadcast.hpp"
#include "coll/math.hpp"
#include "coll/node_blocks.hpp"

#include <algorithm>

namespace smddp::coll {
namespace {

using Between = void (*)(Builder& builder, const std::vector<int>& peers, int index, int root);

Schedule hierarchical(const char* name, const Position& position, Between add_between, int parts) {
  const Shape& shape = position.shape;
  Builder builder(Collective::kBroadcast, name, position);
  builder.schedule.segmented = true;
  builder.schedule.parts = static_cast<uint32_t>(std::max(1, parts));
  const int node = shape.places[static_cast<size_t>(position.rank)].node, root_node = shape.places[static_cast<size_t>(position.root)].node;
  const int speaker = representative(shape, node, position.root);
  const Slice data = builder.whole(Buffer::kReceive);
  if (position.rank == speaker) add_between(builder, representatives(shape, position.root), node, root_node);
  builder.node(NodeStep::kBroadcast, position.rank == speaker ? data : kNothing, position.rank == speaker ? kNothing : data, shape.local_of(speaker));
  return builder.schedule;
}

}  // namespace

Schedule hierarchical_broadcast(const Position& position) { return hierarchical("hierarchical", position, add_binomial_broadcast, 1); }
Schedule hierarchical_one_hop_broadcast(const Position& position) { return hierarchical("hierarchical_one_hop", position, add_one_hop_broadcast, 1); }
Schedule hierarchical_scatter_allgather_broadcast(const Position& position) {
  return hierarchical("hierarchical_scatter_allgather", position, add_scatter_allgather, position.shape.node_count() - 1);
}

Cost hierarchical_broadcast_cost(const Shape& shape) {
  const double most = ceil_log2(shape.node_count());
  return {.rounds = static_cast<double>(floor_log2(shape.node_count())), .messages = most, .sent = most, .received = 1, .node_steps = 1, .node_moved = 1, .talkers = 1};
}

Cost hierarchical_one_hop_broadcast_cost(const Shape& shape) {
  const double nodes = shape.node_count();
  return {.rounds = 1, .messages = nodes - 1, .sent = nodes - 1, .received = 1, .node_steps = 1, .node_moved = 1, .talkers = 1};
}

Cost hierarchical_scatter_allgather_broadcast_cost(const Shape& shape) {
  const double nodes = shape.node_count();
  return {.rounds = nodes > 2 ? 2.0 : 1.0, .messages = nodes - 1, .sent = 1, .received = 1, .node_steps = 1, .node_moved = 1, .talkers = 1};
}

}  // namespace smddp::coll
