// Bruck: each rank keeps blocks in the order of ranks beginning with its own. In round r it sends the first min(2^r, p − 2^r) of them to
// the rank 2^r before and appends as many from the rank 2^r after; at the end the blocks are rotated into their places.
// Cost, with q the largest power of two in p: log2 q messages in a row, or one more if p > 3 q / 2 (else the last round, of which there
// are ⌈log2 p⌉, sends nothing that came in the one before); n (p − 1) bytes sent.
// Use it: for small n, for any p.
// Bruck et al., Efficient algorithms for all-to-all communications in multiport message-passing systems, IEEE TPDS 1997.
#include "coll/allgather/allgather.hpp"
#include "coll/math.hpp"

#include <algorithm>

namespace smddp::coll {

Schedule bruck_allgather(const Position& position) {
  Builder builder(Collective::kAllgather, "bruck", position);
  const int size = position.shape.size(), rank = position.rank;
  const auto p = static_cast<uint32_t>(size), mine = static_cast<uint32_t>(rank);
  builder.schedule.scratch_slots = p;
  builder.copy(builder.whole(Buffer::kSend), builder.block(Buffer::kScratch, 0));
  for (int distance = 1; distance < size; distance *= 2) {
    const auto have = static_cast<uint32_t>(distance), more = std::min(have, p - have);
    builder.recv((rank + distance) % size, builder.block(Buffer::kScratch, have, more));
    builder.send((rank + size - distance) % size, builder.block(Buffer::kScratch, 0, more));
  }
  builder.copy(builder.block(Buffer::kScratch, 0, p - mine), builder.block(Buffer::kReceive, mine, p - mine));
  if (mine) builder.copy(builder.block(Buffer::kScratch, p - mine, mine), builder.block(Buffer::kReceive, 0, mine));
  return builder.schedule;
}

Cost bruck_allgather_cost(const Shape& shape) {
  const double p = shape.size(), rounds = spread_rounds(shape.size()), messages = ceil_log2(shape.size());
  return {.rounds = rounds, .messages = messages, .sent = p - 1, .received = p - 1};
}

}  // namespace smddp::coll
