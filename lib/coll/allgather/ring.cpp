// Ring: in round r each rank sends block rank − r to the next rank and receives block rank − r − 1 from the one before.
// Cost: p − 1 messages in a row, n (p − 1) bytes sent.
// Use it: where the network is slow between most pairs but fast along a ring, for large n.
#include "coll/allgather/allgather.hpp"

namespace smddp::coll {

Schedule ring_allgather(const Position& position) {
  Builder builder(Collective::kAllgather, "ring", position);
  const int size = position.shape.size(), rank = position.rank;
  builder.schedule.segmented = true;
  const auto block = [&](int r) { return builder.block(Buffer::kReceive, static_cast<uint32_t>((rank - r + size) % size)); };
  for (int r = 0; r < size - 1; ++r) {
    builder.recv((rank + size - 1) % size, block(r + 1));
    builder.send((rank + 1) % size, r == 0 ? builder.whole(Buffer::kSend) : block(r));
  }
  builder.copy(builder.whole(Buffer::kSend), block(0));
  return builder.schedule;
}

Cost ring_allgather_cost(const Shape& shape) {
  const double p = shape.size();
  return {.rounds = p - 1, .messages = p - 1, .sent = p - 1, .received = p - 1};
}

}  // namespace smddp::coll
