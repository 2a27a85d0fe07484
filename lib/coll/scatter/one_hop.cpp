// One hop: the root sends each rank its block.
// Cost: 1 message in a row; the root sends n (p − 1) bytes.
// Use it: for all n, as long as the root can post p messages in the time that their bytes take.
#include "coll/scatter/scatter.hpp"

namespace smddp::coll {

Schedule one_hop_scatter(const Position& position) {
  Builder builder(Collective::kScatter, "one_hop", position);
  builder.schedule.segmented = true;
  const int size = position.shape.size(), root = position.root;
  const Slice own = builder.whole(Buffer::kReceive);
  if (position.rank != root) {
    builder.recv(root, own);
    return builder.schedule;
  }
  const auto block = [&](int rank) { return builder.block(Buffer::kSend, static_cast<uint32_t>(rank)); };
  for (int d = 1; d < size; ++d) builder.send((root + d) % size, block((root + d) % size));
  builder.copy(block(root), own);
  return builder.schedule;
}

Cost one_hop_scatter_cost(const Shape& shape) {
  const double p = shape.size();
  return {.rounds = 1, .messages = p - 1, .sent = p - 1, .received = 1};
}

}  // namespace smddp::coll
