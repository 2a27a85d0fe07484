// Hierarchical: three stages, pipelined by segment. Every node reduces the vector inside itself, so that each of its first L ranks, L
// being the ranks of the smallest node, has one of L lanes; the ranks of a lane, one on each of N nodes, reduce it between nodes; every
// node gathers its lanes. Between nodes: sharded among the N ranks of a lane, or in one hop for small vectors. The sum is in rank order
// inside a node, then in the order of nodes.
// Cost, sharded: 2 messages in a row, 2 (n / L) (N − 1) / N bytes sent; in one hop: 1 message, (n / L) (N − 1) bytes.
// Use it: where nodes have several ranks.
// After the hierarchical schemes of MPI libraries and the same paper as sharded.
#include "coll/allreduce/allreduce.hpp"

namespace smddp::coll {
namespace {

Schedule hierarchical(const Position& position, bool sharded) {
  const Shape& shape = position.shape;
  Builder builder(Collective::kAllreduce, sharded ? "hierarchical" : "hierarchical_one_hop", position);
  const auto lanes = static_cast<uint32_t>(shape.lanes()), nodes = static_cast<uint32_t>(shape.node_count());
  const uint32_t lane_shares = sharded ? nodes : 1;
  builder.schedule.segmented = true;
  builder.schedule.lanes = lanes;
  builder.schedule.parts = lanes * lane_shares;
  builder.schedule.scratch_slots = nodes - 1;

  const auto lane = static_cast<uint32_t>(shape.local_of(position.rank));
  const uint32_t first = lane * lane_shares;
  const Slice mine = lane < lanes ? builder.share(Buffer::kReceive, first, lane_shares) : kNothing;
  builder.node(NodeStep::kReduceShares, builder.whole(Buffer::kSend), mine, 0, nodes == 1);
  if (lane < lanes && nodes > 1) {
    std::vector<int> peers;
    for (const auto& ranks : shape.nodes) peers.push_back(ranks[lane]);
    const int index = shape.places[static_cast<size_t>(position.rank)].node;
    (sharded ? add_sharded : add_one_hop)(builder, peers, index, first, Buffer::kReceive);
  }
  builder.node(NodeStep::kGatherShares, mine, builder.whole(Buffer::kReceive));
  return builder.schedule;
}

}  // namespace

Schedule hierarchical_allreduce(const Position& position) { return hierarchical(position, true); }
Schedule hierarchical_one_hop_allreduce(const Position& position) { return hierarchical(position, false); }

Cost hierarchical_allreduce_cost(const Shape& shape) {
  const double nodes = shape.node_count(), lanes = shape.lanes();
  const double moved = 2 * (nodes - 1) / nodes / lanes;
  return {.rounds = 2, .messages = 2 * (nodes - 1), .sent = moved, .received = moved, .added = 1 / lanes, .node_steps = 2, .node_moved = 2, .talkers = lanes};
}

Cost hierarchical_one_hop_allreduce_cost(const Shape& shape) {
  const double nodes = shape.node_count(), lanes = shape.lanes();
  const double moved = (nodes - 1) / lanes;
  return {.rounds = 1, .messages = nodes - 1, .sent = moved, .received = moved, .added = nodes / lanes, .node_steps = 2, .node_moved = 2, .talkers = lanes};
}

}  // namespace smddp::coll
