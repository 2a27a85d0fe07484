// One hop: the root sends the vector to every other rank.
// Cost: 1 message in a row; the root sends n (p − 1) bytes.
// Use it: for small n, where a second hop takes longer than p messages to post.
#include "coll/broadcast/broadcast.hpp"

namespace smddp::coll {

void add_one_hop_broadcast(Builder& builder, const std::vector<int>& peers, int index, int root) {
  const int n = static_cast<int>(peers.size());
  const Slice data = builder.whole(Buffer::kReceive);
  if (index != root) builder.recv(peers[static_cast<size_t>(root)], data);
  for (int d = 1; index == root && d < n; ++d) builder.send(peers[static_cast<size_t>((root + d) % n)], data);
}

Schedule one_hop_broadcast(const Position& position) {
  Builder builder(Collective::kBroadcast, "one_hop", position);
  builder.schedule.segmented = true;
  add_one_hop_broadcast(builder, all_ranks(position.shape), position.rank, position.root);
  return builder.schedule;
}

Cost one_hop_broadcast_cost(const Shape& shape) {
  const double p = shape.size();
  return {.rounds = 1, .messages = p - 1, .sent = p - 1, .received = 1};
}

}  // namespace smddp::coll
