// Servers: processes beside the ranks do the sums. The vector is cut into an equal shard for each of K servers; in round 0 every rank sends
// each server its shard, which the server adds in rank order; in round 1 each server sends the sum back to every rank. Where nodes have
// several ranks, each node first reduces the vector inside itself, so that each of its first L ranks, L being the ranks of the smallest
// node, has one of L lanes; these are sent to the servers, and gathered when they come back.
// Cost, for N nodes (a rank each where no node has more): 2 messages in a row, n / L bytes sent and received by a rank, n N / K by a
// server. A segment goes there before it comes back: several fill a link in both directions.
// Use it: where there are about as many servers as nodes, with links of their own: a link carries n bytes each way, sharded 2 n (N − 1) / N.
// Thangakrishnan et al., Herring: Rethinking the Parameter Server at Scale for the Cloud, SC 2020.
#include "coll/allreduce/allreduce.hpp"

#include <algorithm>

namespace smddp::coll {
namespace {

struct Cut {
  explicit Cut(const Shape& shape)
      : alone(shape.node_count() == shape.size()), nodes(static_cast<uint32_t>(shape.node_count())), lanes(alone ? 1 : static_cast<uint32_t>(shape.lanes())),
        servers(static_cast<uint32_t>(shape.servers)) {}
  uint32_t shard(uint32_t lane, uint32_t server) const { return lane * servers + server; }

  const bool alone;  // each rank on its node
  const uint32_t nodes, lanes, servers;
};

void add_rank(Builder& builder, const Position& position, const Cut& cut) {
  const Shape& shape = position.shape;
  const auto lane = static_cast<uint32_t>(shape.local_of(position.rank)), node = static_cast<uint32_t>(shape.places[static_cast<size_t>(position.rank)].node);
  const Slice mine = lane < cut.lanes ? builder.share(Buffer::kReceive, cut.shard(lane, 0), cut.servers) : kNothing;
  if (!cut.alone) builder.node(NodeStep::kReduceShares, builder.whole(Buffer::kSend), mine);
  // Each begins with another server, so that none is everybody's first.
  const auto server_at = [&](uint32_t distance) { return (node + distance) % cut.servers; };
  for (uint32_t d = 0; lane < cut.lanes && d < cut.servers; ++d) {
    const uint32_t step = builder.send(shape.size() + static_cast<int>(server_at(d)), builder.share(cut.alone ? Buffer::kSend : Buffer::kReceive, cut.shard(lane, server_at(d))));
    // Segments go up one after the other, or all that are under way would first go up together and then come down together.
    builder.schedule.steps[step].after.push_back({step, 1});
  }
  for (uint32_t d = 0; lane < cut.lanes && d < cut.servers; ++d) {
    builder.recv(shape.size() + static_cast<int>(server_at(d)), builder.share(Buffer::kReceive, cut.shard(lane, server_at(d))));
  }
  if (!cut.alone) builder.node(NodeStep::kGatherShares, mine, builder.whole(Buffer::kReceive));
}

void add_server(Builder& builder, const Position& position, const Cut& cut) {
  const auto server = static_cast<uint32_t>(position.rank - position.shape.size());
  const auto rank_of = [&](uint32_t node, uint32_t lane) { return position.shape.nodes[node][lane]; };
  const auto contribution = [&](uint32_t node, uint32_t lane) { return Builder::scratch(lane * cut.nodes + node, cut.shard(lane, server)); };
  builder.schedule.scratch_slots = cut.lanes * cut.nodes;
  for (uint32_t lane = 0; lane < cut.lanes; ++lane) {
    for (uint32_t node = 0; node < cut.nodes; ++node) builder.recv(rank_of(node, lane), contribution(node, lane));
  }
  for (uint32_t lane = 0; lane < cut.lanes; ++lane) {
    std::vector<Slice> contributions;
    for (uint32_t node = 0; node < cut.nodes; ++node) contributions.push_back(contribution(node, lane));
    const Slice sum = contributions[0];
    builder.reduce(std::move(contributions), sum, true);
    for (uint32_t d = 0; d < cut.nodes; ++d) builder.send(rank_of((server + d) % cut.nodes, lane), sum);
  }
}

}  // namespace

Schedule servers_allreduce(const Position& position) {
  Builder builder(Collective::kAllreduce, "servers", position);
  const Cut cut(position.shape);
  builder.schedule.servers = position.shape.servers;
  builder.schedule.segmented = true;
  builder.schedule.lanes = cut.lanes;
  builder.schedule.parts = cut.lanes * cut.servers;
  if (position.rank < position.shape.size()) add_rank(builder, position, cut); else add_server(builder, position, cut);
  return builder.schedule;
}

Cost servers_allreduce_cost(const Shape& shape) {
  const Cut cut(shape);
  const double nodes = cut.nodes, lanes = cut.lanes, servers = cut.servers;
  const double moved = std::max(1 / lanes, nodes / servers), steps = cut.alone ? 0 : 2;
  return {.rounds = 2, .messages = std::max(servers, nodes * lanes), .sent = moved, .received = moved, .added = nodes / servers, .node_steps = steps,
          .node_moved = steps, .talkers = std::max(1.0, nodes / servers) / moved, .one_way = true};
}

bool servers_fit(const Shape& shape) { return shape.servers > 0; }

}  // namespace smddp::coll
