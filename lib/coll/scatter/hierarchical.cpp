// Hierarchical: the root sends the lowest rank of each other node the blocks of the node in one message; then these, and the root, scatter
// them inside their nodes.
// Cost for N nodes of at most M and at least L ranks: 1 message in a row; the root sends n (p − L) bytes, others receive at most n M.
// Use it: where nodes have several ranks.
#include "coll/node_blocks.hpp"
#include "coll/scatter/scatter.hpp"

namespace smddp::coll {

Schedule hierarchical_scatter(const Position& position) {
  const Shape& shape = position.shape;
  Builder builder(Collective::kScatter, "hierarchical", position);
  const int node = shape.places[static_cast<size_t>(position.rank)].node, speaker = representative(shape, node, position.root);
  const Slice own = builder.whole(Buffer::kReceive);
  if (position.rank == position.root) {
    NodeBlocks blocks(builder, shape, Buffer::kSend);
    for (int n = 0; n < shape.node_count(); ++n) {
      blocks.pack(n);
      if (n != node) builder.send(shape.nodes[static_cast<size_t>(n)][0], blocks.of(n));
    }
    builder.node(NodeStep::kScatter, blocks.of(node), own, shape.local_of(speaker));
  } else if (position.rank == speaker) {
    const auto ranks = static_cast<uint32_t>(shape.nodes[static_cast<size_t>(node)].size());
    builder.schedule.scratch_slots = ranks;
    builder.recv(position.root, builder.block(Buffer::kScratch, 0, ranks));
    builder.node(NodeStep::kScatter, builder.block(Buffer::kScratch, 0, ranks), own, shape.local_of(speaker));
  } else {
    builder.node(NodeStep::kScatter, kNothing, own, shape.local_of(speaker));
  }
  return builder.schedule;
}

Cost hierarchical_scatter_cost(const Shape& shape) {
  const double p = shape.size(), nodes = shape.node_count(), most = largest_node(shape);
  return {.rounds = 1, .messages = nodes - 1, .sent = p - shape.lanes(), .received = most, .node_steps = 1, .node_moved = most, .talkers = 1};
}

}  // namespace smddp::coll
