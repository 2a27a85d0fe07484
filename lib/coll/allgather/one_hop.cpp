// One hop: every rank sends its block to every other.
// Cost: 1 message in a row, n (p − 1) bytes sent.
// Use it: for all n, as long as p messages to post take less time than their bytes to send.
#include "coll/allgather/allgather.hpp"

namespace smddp::coll {

Schedule one_hop_allgather(const Position& position) {
  Builder builder(Collective::kAllgather, "one_hop", position);
  const int size = position.shape.size(), rank = position.rank;
  builder.schedule.segmented = true;
  for (int d = 1; d < size; ++d) {
    const int from = (rank + size - d) % size;
    builder.recv(from, builder.block(Buffer::kReceive, static_cast<uint32_t>(from)));
  }
  for (int d = 1; d < size; ++d) builder.send((rank + d) % size, builder.whole(Buffer::kSend));
  builder.copy(builder.whole(Buffer::kSend), builder.block(Buffer::kReceive, static_cast<uint32_t>(rank)));
  return builder.schedule;
}

Cost one_hop_allgather_cost(const Shape& shape) {
  const double p = shape.size();
  return {.rounds = 1, .messages = p - 1, .sent = p - 1, .received = p - 1};
}

}  // namespace smddp::coll
