// One hop: every rank sends each other rank its block, and each adds the p contributions to its own in rank order.
// Cost: 1 message in a row, n (p − 1) bytes sent.
// Use it: for all n, as long as p messages to post take less time than their bytes to send.
#include "coll/reduce_scatter/reduce_scatter.hpp"

namespace smddp::coll {

Schedule one_hop_reduce_scatter(const Position& position) {
  Builder builder(Collective::kReduceScatter, "one_hop", position);
  const int size = position.shape.size(), rank = position.rank;
  builder.schedule.segmented = true;
  std::vector<Slice> contributions;
  for (int peer = 0; peer < size; ++peer) {
    contributions.push_back(peer == rank ? builder.block(Buffer::kSend, static_cast<uint32_t>(rank)) : Builder::scratch(builder.schedule.scratch_slots++, 0));
  }
  for (int d = 1; d < size; ++d) {
    const int from = (rank + size - d) % size;
    builder.recv(from, contributions[static_cast<size_t>(from)]);
  }
  for (int d = 1; d < size; ++d) builder.send((rank + d) % size, builder.block(Buffer::kSend, static_cast<uint32_t>((rank + d) % size)));
  builder.reduce(contributions, builder.whole(Buffer::kReceive), true);
  return builder.schedule;
}

Cost one_hop_reduce_scatter_cost(const Shape& shape) {
  const double p = shape.size();
  return {.rounds = 1, .messages = p - 1, .sent = p - 1, .received = p - 1, .added = p};
}

}  // namespace smddp::coll
