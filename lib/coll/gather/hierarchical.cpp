// Hierarchical: the root, and the lowest rank of each other node, gathers the blocks of its node; then these send them to the root.
// Cost for N nodes of at most M and at least L ranks: 1 message in a row, n M bytes sent; the root receives n (p − L).
// Use it: where nodes have several ranks.
#include "coll/gather/gather.hpp"
#include "coll/node_blocks.hpp"

namespace smddp::coll {

Schedule hierarchical_gather(const Position& position) {
  const Shape& shape = position.shape;
  Builder builder(Collective::kGather, "hierarchical", position);
  const int node = shape.places[static_cast<size_t>(position.rank)].node, speaker = representative(shape, node, position.root);
  const Slice own = builder.whole(Buffer::kSend);
  if (position.rank == position.root) {
    NodeBlocks blocks(builder, shape, Buffer::kReceive);
    for (int n = 0; n < shape.node_count(); ++n) {
      if (n != node) builder.recv(shape.nodes[static_cast<size_t>(n)][0], blocks.of(n));
    }
    builder.node(NodeStep::kGather, own, blocks.of(node), shape.local_of(speaker));
    for (int n = 0; n < shape.node_count(); ++n) blocks.unpack(n);
  } else if (position.rank == speaker) {
    const auto ranks = static_cast<uint32_t>(shape.nodes[static_cast<size_t>(node)].size());
    builder.schedule.scratch_slots = ranks;
    builder.node(NodeStep::kGather, own, builder.block(Buffer::kScratch, 0, ranks), shape.local_of(speaker));
    builder.send(position.root, builder.block(Buffer::kScratch, 0, ranks));
  } else {
    builder.node(NodeStep::kGather, own, kNothing, shape.local_of(speaker));
  }
  return builder.schedule;
}

Cost hierarchical_gather_cost(const Shape& shape) {
  const double p = shape.size(), nodes = shape.node_count(), most = largest_node(shape);
  return {.rounds = 1, .messages = nodes - 1, .sent = most, .received = p - shape.lanes(), .node_steps = 1, .node_moved = most, .talkers = 1};
}

}  // namespace smddp::coll
