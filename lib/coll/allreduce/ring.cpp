// Ring: the vector is cut into p shares. In round r < p − 1 each rank sends share rank − r to the next rank and adds its own contribution
// to share rank − r − 1, which comes from the one before; then the finished shares go round once in p − 1 rounds. The sum of share s
// begins at rank s and goes round in rank order from there, on all ranks alike; 16-bit types are rounded at each hop.
// Cost: 2 (p − 1) messages in a row, 2 n (p − 1) / p bytes sent.
// Use it: where the network is slow between most pairs but fast along a ring, for large n and few ranks.
// Patarasuk and Yuan, Bandwidth optimal all-reduce algorithms for clusters of workstations, JPDC 2009.
#include "coll/allreduce/allreduce.hpp"

namespace smddp::coll {

Schedule ring_allreduce(const Position& position) {
  Builder builder(Collective::kAllreduce, "ring", position);
  const int size = position.shape.size(), rank = position.rank;
  builder.schedule.segmented = true;
  builder.schedule.parts = static_cast<uint32_t>(size);
  if (size == 1) {
    builder.reduce({builder.whole(Buffer::kSend)}, builder.whole(Buffer::kReceive), true);
    return builder.schedule;
  }
  const int next = (rank + 1) % size, before = (rank + size - 1) % size;
  // Two slots: one is received into while the other one is added.
  builder.schedule.scratch_slots = size == 2 ? 1 : 2;
  for (int r = 0; r < size - 1; ++r) {
    const auto out = static_cast<uint32_t>((rank - r + size) % size), in = static_cast<uint32_t>((rank - r - 1 + size) % size);
    const Slice partial = Builder::scratch(static_cast<uint32_t>(r % 2), in);
    builder.recv(before, partial);
    builder.send(next, builder.share(r == 0 ? Buffer::kSend : Buffer::kReceive, out));
    builder.reduce({partial, builder.share(Buffer::kSend, in)}, builder.share(Buffer::kReceive, in), r == size - 2);
  }
  for (int r = 0; r < size - 1; ++r) {
    const auto out = static_cast<uint32_t>((rank + 1 - r + size) % size), in = static_cast<uint32_t>((rank - r + size) % size);
    builder.recv(before, builder.share(Buffer::kReceive, in));
    builder.send(next, builder.share(Buffer::kReceive, out));
  }
  return builder.schedule;
}

Cost ring_allreduce_cost(const Shape& shape) {
  const double p = shape.size();
  return {.rounds = 2 * (p - 1), .messages = 2 * (p - 1), .sent = 2 * (p - 1) / p, .received = 2 * (p - 1) / p, .added = 2 * (p - 1) / p};
}

}  // namespace smddp::coll
