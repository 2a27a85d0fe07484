// Hierarchical: each node reduces all p blocks to its lowest rank; these exchange, in one hop, the blocks of each other's ranks and add the
// contributions of the nodes in their order; then each scatters the blocks of its node.
// Cost for N nodes of at most M and at least L ranks: 1 message in a row, n (p − L) bytes sent, n M (N − 1) received.
// Use it: where nodes have several ranks.
#include "coll/node_blocks.hpp"
#include "coll/reduce_scatter/reduce_scatter.hpp"

namespace smddp::coll {

Schedule hierarchical_reduce_scatter(const Position& position) {
  const Shape& shape = position.shape;
  Builder builder(Collective::kReduceScatter, "hierarchical", position);
  const auto p = static_cast<uint32_t>(shape.size());
  const Slice vectors = builder.block(Buffer::kSend, 0, p), result = builder.whole(Buffer::kReceive);
  if (shape.local_of(position.rank) != 0) {
    builder.node(NodeStep::kReduce, vectors, kNothing);
    builder.node(NodeStep::kScatter, kNothing, result);
    return builder.schedule;
  }
  builder.schedule.scratch_slots = p;
  builder.node(NodeStep::kReduce, vectors, builder.block(Buffer::kScratch, 0, p));
  NodeBlocks blocks(builder, shape, Buffer::kScratch);
  const int nodes = shape.node_count(), node = shape.places[static_cast<size_t>(position.rank)].node;
  const auto ranks = static_cast<uint32_t>(shape.nodes[static_cast<size_t>(node)].size());
  for (int n = 0; n < nodes; ++n) blocks.pack(n);
  std::vector<Slice> contributions;
  for (int n = 0; n < nodes; ++n) {
    contributions.push_back(n == node ? blocks.of(n) : builder.block(Buffer::kScratch, builder.schedule.scratch_slots, ranks));
    if (n != node) builder.schedule.scratch_slots += ranks;
  }
  for (int d = 1; d < nodes; ++d) {
    const auto from = static_cast<size_t>((node + nodes - d) % nodes);
    builder.recv(shape.nodes[from][0], contributions[from]);
  }
  for (int d = 1; d < nodes; ++d) builder.send(shape.nodes[static_cast<size_t>((node + d) % nodes)][0], blocks.of((node + d) % nodes));
  builder.reduce(contributions, blocks.of(node), true);
  builder.node(NodeStep::kScatter, blocks.of(node), result);
  return builder.schedule;
}

Cost hierarchical_reduce_scatter_cost(const Shape& shape) {
  const double p = shape.size(), nodes = shape.node_count(), most = largest_node(shape);
  return {.rounds = 1, .messages = nodes - 1, .sent = p - shape.lanes(), .received = most * (nodes - 1), .added = nodes * most, .node_steps = 2,
          .node_moved = p + most, .talkers = 1};
}

}  // namespace smddp::coll
