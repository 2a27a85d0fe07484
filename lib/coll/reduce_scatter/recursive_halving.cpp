// Recursive halving, for p a power of two: in round r ranks at distance p / 2^(r + 1) exchange halves of the blocks that they still work on,
// and each adds those that it keeps. 16-bit types are rounded in each round.
// Cost: log2 p messages in a row, n (p − 1) bytes sent.
// Use it: for small n.
// Thakur, Rabenseifner and Gropp, Optimization of Collective Communication Operations in MPICH, IJHPCA 2005.
#include "coll/math.hpp"
#include "coll/reduce_scatter/reduce_scatter.hpp"

namespace smddp::coll {

bool recursive_halving_fits(const Shape& shape) { return floor_power(shape.size()) == shape.size(); }

Schedule recursive_halving_reduce_scatter(const Position& position) {
  Builder builder(Collective::kReduceScatter, "recursive_halving", position);
  const int size = position.shape.size(), rank = position.rank;
  const auto half = static_cast<uint32_t>(size / 2);
  builder.schedule.scratch_slots = 2 * half;  // sums, received
  if (size == 1) builder.reduce({builder.whole(Buffer::kSend)}, builder.whole(Buffer::kReceive), true);
  uint32_t first = 0;                         // block that this rank's sums begin with; the slot of block b is b − base
  uint32_t base = 0;
  for (int distance = size / 2; distance > 0; distance /= 2) {
    const auto blocks = static_cast<uint32_t>(distance);
    const Buffer from = distance == size / 2 ? Buffer::kSend : Buffer::kScratch;
    const bool upper = rank & distance;
    const uint32_t kept = upper ? first + blocks : first, given = upper ? first : first + blocks;
    const Slice theirs = builder.block(Buffer::kScratch, half, blocks), own = builder.block(from, kept - base, blocks);
    builder.recv(rank ^ distance, theirs);
    builder.send(rank ^ distance, builder.block(from, given - base, blocks));
    if (from == Buffer::kSend) base = kept;
    first = kept;
    const Slice sum = distance == 1 ? builder.whole(Buffer::kReceive) : builder.block(Buffer::kScratch, kept - base, blocks);
    if (upper) builder.reduce({theirs, own}, sum, distance == 1); else builder.reduce({own, theirs}, sum, distance == 1);
  }
  return builder.schedule;
}

Cost recursive_halving_reduce_scatter_cost(const Shape& shape) {
  const double p = shape.size(), rounds = floor_log2(shape.size());
  return {.rounds = rounds, .messages = rounds, .sent = p - 1, .received = p - 1, .added = 2 * (p - 1)};
}

}  // namespace smddp::coll
