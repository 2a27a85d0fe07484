// Hierarchical: the lowest rank of each node gathers the blocks of the node, sends them to the lowest rank of every other node in one
// hop, and broadcasts all p blocks inside its node.
// Cost for N nodes of at most M and at least L ranks: 1 message in a row, n M (N − 1) bytes sent, n (p − L) received.
// Use it: where nodes have several ranks.
#include "coll/allgather/allgather.hpp"
#include "coll/node_blocks.hpp"

namespace smddp::coll {

Schedule hierarchical_allgather(const Position& position) {
  const Shape& shape = position.shape;
  Builder builder(Collective::kAllgather, "hierarchical", position);
  const Slice own = builder.whole(Buffer::kSend), all = builder.block(Buffer::kReceive, 0, static_cast<uint32_t>(shape.size()));
  if (shape.local_of(position.rank) != 0) {
    builder.node(NodeStep::kGather, own, kNothing);
    builder.node(NodeStep::kBroadcast, kNothing, all);
    return builder.schedule;
  }
  NodeBlocks blocks(builder, shape, Buffer::kReceive);
  const int nodes = shape.node_count(), node = shape.places[static_cast<size_t>(position.rank)].node;
  const auto speaker = [&](int n) { return shape.nodes[static_cast<size_t>(n)][0]; };
  for (int d = 1; d < nodes; ++d) builder.recv(speaker((node + nodes - d) % nodes), blocks.of((node + nodes - d) % nodes));
  builder.node(NodeStep::kGather, own, blocks.of(node));
  for (int d = 1; d < nodes; ++d) builder.send(speaker((node + d) % nodes), blocks.of(node));
  for (int n = 0; n < nodes; ++n) blocks.unpack(n);
  builder.node(NodeStep::kBroadcast, all, kNothing);
  return builder.schedule;
}

Cost hierarchical_allgather_cost(const Shape& shape) {
  const double p = shape.size(), nodes = shape.node_count(), most = largest_node(shape);
  return {.rounds = 1, .messages = nodes - 1, .sent = most * (nodes - 1), .received = p - shape.lanes(), .node_steps = 2, .node_moved = most + p, .talkers = 1};
}

}  // namespace smddp::coll
