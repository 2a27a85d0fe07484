// Hierarchical: each node reduces to the root or, on the other nodes, to its lowest rank; these reduce in a binomial tree. The two stages
// are pipelined by segment. The sum is in rank order inside a node, then as in the binomial tree in the order of nodes.
// Cost for N nodes: ⌊log2 N⌋ messages in a row, n bytes sent; the root receives n ⌈log2 N⌉.
// Use it: where nodes have several ranks.
#include "coll/math.hpp"
#include "coll/node_blocks.hpp"
#include "coll/reduce/reduce.hpp"

namespace smddp::coll {

Schedule hierarchical_reduce(const Position& position) {
  const Shape& shape = position.shape;
  Builder builder(Collective::kReduce, "hierarchical", position);
  builder.schedule.segmented = true;
  const int node = shape.places[static_cast<size_t>(position.rank)].node, root_node = shape.places[static_cast<size_t>(position.root)].node;
  const int speaker = representative(shape, node, position.root);
  if (position.rank != speaker) {
    builder.node(NodeStep::kReduce, builder.whole(Buffer::kSend), kNothing, shape.local_of(speaker));
    return builder.schedule;
  }
  const Slice sum = Builder::scratch(builder.schedule.scratch_slots++, 0);
  builder.node(NodeStep::kReduce, builder.whole(Buffer::kSend), sum, shape.local_of(speaker));
  add_binomial_reduce(builder, representatives(shape, position.root), node, root_node, sum);
  return builder.schedule;
}

Cost hierarchical_reduce_cost(const Shape& shape) {
  const double most = ceil_log2(shape.node_count());
  return {.rounds = static_cast<double>(floor_log2(shape.node_count())), .messages = most, .sent = 1, .received = most, .added = 1 + most,
          .node_steps = 1, .node_moved = 1, .talkers = 1};
}

}  // namespace smddp::coll
