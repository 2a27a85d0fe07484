// One hop: every rank sends its whole vector to every other, and each adds all p contributions in rank order.
// Cost: 1 message in a row, n (p − 1) bytes sent.
// Use it: for small n, where the latency of a second hop takes longer than the bytes.
#include "coll/allreduce/allreduce.hpp"

namespace smddp::coll {

void add_one_hop(Builder& builder, const std::vector<int>& peers, int index, uint32_t first, Buffer source) {
  const int n = static_cast<int>(peers.size());
  std::vector<Slice> contributions;
  for (int peer = 0; peer < n; ++peer) {
    const auto slot = static_cast<uint32_t>(peer < index ? peer : peer - 1);
    contributions.push_back(peer == index ? builder.share(source, first) : Builder::scratch(slot, first));
  }
  for (int d = 1; d < n; ++d) {
    const int from = (index + n - d) % n;
    builder.recv(peers[static_cast<size_t>(from)], contributions[static_cast<size_t>(from)]);
  }
  for (int d = 1; d < n; ++d) builder.send(peers[static_cast<size_t>((index + d) % n)], builder.share(source, first));
  builder.reduce(contributions, builder.share(Buffer::kReceive, first), true);
}

Schedule one_hop_allreduce(const Position& position) {
  Builder builder(Collective::kAllreduce, "one_hop", position);
  builder.schedule.segmented = true;
  builder.schedule.scratch_slots = static_cast<uint32_t>(position.shape.size() - 1);
  add_one_hop(builder, all_ranks(position.shape), position.rank, 0, Buffer::kSend);
  return builder.schedule;
}

Cost one_hop_allreduce_cost(const Shape& shape) {
  const double p = shape.size();
  return {.rounds = 1, .messages = p - 1, .sent = p - 1, .received = p - 1, .added = p};
}

}  // namespace smddp::coll
