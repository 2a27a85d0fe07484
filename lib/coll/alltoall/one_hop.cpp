// One hop: every rank sends each other rank its block, all at the same time.
// Cost: 1 message in a row, n (p − 1) bytes sent.
// Use it: where the network bears p messages to a rank at the same time.
#include "coll/alltoall/alltoall.hpp"

namespace smddp::coll {

Schedule one_hop_alltoall(const Position& position) {
  Builder builder(Collective::kAlltoall, "one_hop", position);
  const int size = position.shape.size(), rank = position.rank;
  builder.schedule.segmented = true;
  const auto block = [&](Buffer buffer, int r) { return builder.block(buffer, static_cast<uint32_t>(r)); };
  for (int d = 1; d < size; ++d) builder.recv((rank + size - d) % size, block(Buffer::kReceive, (rank + size - d) % size));
  for (int d = 1; d < size; ++d) builder.send((rank + d) % size, block(Buffer::kSend, (rank + d) % size));
  builder.copy(block(Buffer::kSend, rank), block(Buffer::kReceive, rank));
  return builder.schedule;
}

Cost one_hop_alltoall_cost(const Shape& shape) {
  const double p = shape.size();
  return {.rounds = 1, .messages = p - 1, .sent = p - 1, .received = p - 1};
}

}  // namespace smddp::coll
