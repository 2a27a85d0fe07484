// Ring: the sum of block b begins at rank b + 1 and goes round to rank b. In round r each rank sends the sum of block rank − 1 − r to the
// next rank and adds its own contribution to block rank − 2 − r, which comes from the one before. 16-bit types are rounded at each hop.
// Cost: p − 1 messages in a row, n (p − 1) bytes sent.
// Use it: where the network is slow between most pairs but fast along a ring, for large n.
#include "coll/reduce_scatter/reduce_scatter.hpp"

namespace smddp::coll {

Schedule ring_reduce_scatter(const Position& position) {
  Builder builder(Collective::kReduceScatter, "ring", position);
  const int size = position.shape.size(), rank = position.rank;
  builder.schedule.segmented = true;
  builder.schedule.scratch_slots = 2;  // the sum in one is sent while the next one is received
  const auto own = [&](int r) { return builder.block(Buffer::kSend, static_cast<uint32_t>((rank - 1 - r + 2 * size) % size)); };
  Slice sum = own(0);
  if (size == 1) builder.reduce({sum}, builder.whole(Buffer::kReceive), true);
  for (int r = 0; r < size - 1; ++r) {
    const Slice slot = Builder::scratch(static_cast<uint32_t>(r % 2), 0);
    const bool last = r == size - 2;
    builder.recv((rank + size - 1) % size, slot);
    builder.send((rank + 1) % size, sum);
    sum = last ? builder.whole(Buffer::kReceive) : slot;
    builder.reduce({slot, own(r + 1)}, sum, last);
  }
  return builder.schedule;
}

Cost ring_reduce_scatter_cost(const Shape& shape) {
  const double p = shape.size();
  return {.rounds = p - 1, .messages = p - 1, .sent = p - 1, .received = p - 1, .added = 2 * (p - 1)};
}

}  // namespace smddp::coll
