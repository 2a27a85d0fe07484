// Sharded: in round 0 each rank sends every shard of its vector to the shard's server, which adds them in rank order; in round 1 each
// server sends the sum of its shard to the root.
// Cost: 2 messages in a row, n bytes sent; the root receives 2 n (p − 1) / p.
// Use it: for large n: no rank receives more than twice the vector.
// As sharded allreduce (allreduce/sharded.cpp), with the second hop to the root alone.
#include "coll/reduce/reduce.hpp"

namespace smddp::coll {

Schedule sharded_reduce(const Position& position) {
  Builder builder(Collective::kReduce, "sharded", position);
  const int size = position.shape.size(), rank = position.rank;
  const auto mine = static_cast<uint32_t>(rank);
  builder.schedule.segmented = true;
  builder.schedule.parts = static_cast<uint32_t>(size);
  builder.schedule.scratch_slots = static_cast<uint32_t>(size);
  std::vector<Slice> contributions;
  for (int peer = 0; peer < size; ++peer) {
    contributions.push_back(peer == rank ? builder.share(Buffer::kSend, mine) : Builder::scratch(static_cast<uint32_t>(peer), mine));
  }
  for (int d = 1; d < size; ++d) {
    const int from = (rank + size - d) % size;
    builder.recv(from, contributions[static_cast<size_t>(from)]);
  }
  for (int d = 1; d < size; ++d) builder.send((rank + d) % size, builder.share(Buffer::kSend, static_cast<uint32_t>((rank + d) % size)));
  const bool root = rank == position.root;
  // The slot of its own number is this rank's for the sum.
  const Slice sum = root ? builder.share(Buffer::kReceive, mine) : Builder::scratch(mine, mine);
  for (int from = 0; root && from < size; ++from) {
    if (from != rank) builder.recv(from, builder.share(Buffer::kReceive, static_cast<uint32_t>(from)));
  }
  builder.reduce(contributions, sum, true);
  if (!root) builder.send(position.root, sum);
  return builder.schedule;
}

Cost sharded_reduce_cost(const Shape& shape) {
  const double p = shape.size();
  return {.rounds = 2, .messages = 2 * (p - 1), .sent = 1, .received = 2 * (p - 1) / p, .added = 1};
}

}  // namespace smddp::coll
