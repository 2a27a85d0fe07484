// One hop: every rank sends its vector to the root, which adds all of them in rank order.
// Cost: 1 message in a row, n bytes sent; the root receives n (p − 1).
// Use it: for small n.
#include "coll/reduce/reduce.hpp"

namespace smddp::coll {

Schedule one_hop_reduce(const Position& position) {
  Builder builder(Collective::kReduce, "one_hop", position);
  builder.schedule.segmented = true;
  const Slice own = builder.whole(Buffer::kSend);
  if (position.rank != position.root) {
    builder.send(position.root, own);
    return builder.schedule;
  }
  std::vector<Slice> inputs;
  for (int rank = 0; rank < position.shape.size(); ++rank) {
    inputs.push_back(rank == position.root ? own : Builder::scratch(builder.schedule.scratch_slots++, 0));
    if (rank != position.root) builder.recv(rank, inputs.back());
  }
  builder.reduce(inputs, builder.whole(Buffer::kReceive), true);
  return builder.schedule;
}

Cost one_hop_reduce_cost(const Shape& shape) {
  const double p = shape.size();
  return {.rounds = 1, .messages = p - 1, .sent = 1, .received = p - 1, .added = p};
}

}  // namespace smddp::coll
