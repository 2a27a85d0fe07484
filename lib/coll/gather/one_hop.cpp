// One hop: every rank sends its block to the root.
// Cost: 1 message in a row, n bytes sent; the root receives n (p − 1).
// Use it: for all n, as long as the root can take p messages at the same time.
#include "coll/gather/gather.hpp"

namespace smddp::coll {

Schedule one_hop_gather(const Position& position) {
  Builder builder(Collective::kGather, "one_hop", position);
  builder.schedule.segmented = true;
  const Slice own = builder.whole(Buffer::kSend);
  if (position.rank != position.root) {
    builder.send(position.root, own);
    return builder.schedule;
  }
  for (int rank = 0; rank < position.shape.size(); ++rank) {
    const Slice block = builder.block(Buffer::kReceive, static_cast<uint32_t>(rank));
    if (rank == position.root) builder.copy(own, block); else builder.recv(rank, block);
  }
  return builder.schedule;
}

Cost one_hop_gather_cost(const Shape& shape) {
  const double p = shape.size();
  return {.rounds = 1, .messages = p - 1, .sent = 1, .received = p - 1};
}

}  // namespace smddp::coll
