// Pairwise: in round r each rank sends to rank + r and receives from rank − r, one round after the other, so that nobody gets more than
// one message at a time.
// Cost: p − 1 messages in a row, n (p − 1) bytes sent.
// Use it: for large n where many messages to one rank at the same time would be lost or slow.
#include "coll/alltoall/alltoall.hpp"

namespace smddp::coll {

Schedule pairwise_alltoall(const Position& position) {
  Builder builder(Collective::kAlltoall, "pairwise", position);
  const int size = position.shape.size(), rank = position.rank;
  builder.schedule.segmented = true;
  const auto block = [&](Buffer buffer, int r) { return builder.block(buffer, static_cast<uint32_t>(r)); };
  builder.copy(block(Buffer::kSend, rank), block(Buffer::kReceive, rank));
  uint32_t sent = 0, received = 0;
  for (int r = 1; r < size; ++r) {
    const int to = (rank + r) % size, from = (rank + size - r) % size;
    const uint32_t recv = builder.recv(from, block(Buffer::kReceive, from)), send = builder.send(to, block(Buffer::kSend, to));
    if (r > 1) {
      builder.order(sent, send);
      builder.order(received, send);
    }
    sent = send;
    received = recv;
  }
  return builder.schedule;
}

Cost pairwise_alltoall_cost(const Shape& shape) {
  const double p = shape.size();
  return {.rounds = p - 1, .messages = p - 1, .sent = p - 1, .received = p - 1};
}

}  // namespace smddp::coll
