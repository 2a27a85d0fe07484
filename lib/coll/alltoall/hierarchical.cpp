// Hierarchical: the ranks of a node exchange their blocks inside the node; to the others each sends its block in one hop.
// Cost for nodes of at least L ranks: 1 message in a row, n (p − L) bytes sent.
// Use it: where nodes have several ranks.
#include "coll/alltoall/alltoall.hpp"
#include "coll/node_blocks.hpp"

namespace smddp::coll {

Schedule hierarchical_alltoall(const Position& position) {
  const Shape& shape = position.shape;
  Builder builder(Collective::kAlltoall, "hierarchical", position);
  const int size = shape.size(), rank = position.rank, node = shape.places[static_cast<size_t>(rank)].node;
  const auto block = [&](Buffer buffer, int r) { return builder.block(buffer, static_cast<uint32_t>(r)); };
  const auto elsewhere = [&](int r) { return shape.places[static_cast<size_t>(r)].node != node; };
  for (int d = 1; d < size; ++d) {
    const int from = (rank + size - d) % size;
    if (elsewhere(from)) builder.recv(from, block(Buffer::kReceive, from));
  }
  for (int d = 1; d < size; ++d) {
    const int to = (rank + d) % size;
    if (elsewhere(to)) builder.send(to, block(Buffer::kSend, to));
  }
  NodeBlocks out(builder, shape, Buffer::kSend), in(builder, shape, Buffer::kReceive);
  out.pack(node);
  builder.node(NodeStep::kAlltoall, out.of(node), in.of(node));
  in.unpack(node);
  return builder.schedule;
}

Cost hierarchical_alltoall_cost(const Shape& shape) {
  const double remote = shape.size() - shape.lanes(), most = largest_node(shape);
  return {.rounds = 1, .messages = remote, .sent = remote, .received = remote, .node_steps = 1, .node_moved = most, .talkers = most};
}

}  // namespace smddp::coll
