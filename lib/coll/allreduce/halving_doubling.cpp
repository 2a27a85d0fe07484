// Halving-doubling: a reduce-scatter by recursive halving, then an allgather by recursive doubling. In round r of the first half, ranks
// at distance q / 2^(r + 1) exchange halves of what they still work on, and each adds the half that it keeps; the second half goes
// the same way back with finished shares. Where p is no power of two, pairs of ranks fold into one first (allreduce/fold.hpp). 16-bit
// types are rounded in each round of the first half.
// Cost, with q the largest power of two in p: 2 log2 q messages in a row, 2 n (q − 1) / q bytes sent; where p ≠ q two messages in a row and
// n bytes more.
// Use it: for middle and large n on many ranks, where p messages to post take too long.
// Rabenseifner, Optimization of Collective Reduction Operations, ICCS 2004.
#include "coll/allreduce/allreduce.hpp"
#include "coll/allreduce/fold.hpp"

#include <algorithm>

namespace smddp::coll {

Schedule halving_doubling_allreduce(const Position& position) {
  Builder builder(Collective::kAllreduce, "halving_doubling", position);
  const Fold fold(position.shape.size());
  const int place = fold.place_of(position.rank);
  builder.schedule.segmented = true;
  builder.schedule.parts = static_cast<uint32_t>(fold.power);
  // Two slots for half of the vector; a rank that folds needs one for all of it.
  builder.schedule.scratch_slots = 2;
  builder.schedule.slot_shares = fold.extra ? builder.schedule.parts : std::max(1u, builder.schedule.parts / 2);
  if (fold.power == 1) builder.reduce({builder.whole(Buffer::kSend)}, builder.whole(Buffer::kReceive), true);
  const Buffer source = add_fold_in(builder, fold, position.rank, 1).buffer;

  uint32_t first = 0, shares = builder.schedule.parts;  // what this rank works on
  const int rounds = place >= 0 ? floor_log2(fold.power) : 0;
  for (int r = 0; r < rounds; ++r) {
    const int distance = fold.power >> (r + 1), partner = place ^ distance;
    shares /= 2;
    const bool upper = place & distance;
    const uint32_t given = upper ? first : first + shares;
    if (upper) first += shares;
    const Slice theirs = Builder::scratch(static_cast<uint32_t>(r % 2), first, shares);
    const Buffer from = r == 0 ? source : Buffer::kReceive;
    builder.recv(fold.rank_at(partner), theirs);
    builder.send(fold.rank_at(partner), builder.share(from, given, shares));
    const Slice own = builder.share(from, first, shares), sum = builder.share(Buffer::kReceive, first, shares);
    if (upper) builder.reduce({theirs, own}, sum, r == rounds - 1); else builder.reduce({own, theirs}, sum, r == rounds - 1);
  }
  for (int r = 0; r < rounds; ++r) {
    const int partner = place ^ 1 << r;
    const uint32_t other = place & 1 << r ? first - shares : first + shares;
    builder.recv(fold.rank_at(partner), builder.share(Buffer::kReceive, other, shares));
    builder.send(fold.rank_at(partner), builder.share(Buffer::kReceive, first, shares));
    first = std::min(first, other);
    shares *= 2;
  }
  add_fold_out(builder, fold, position.rank);
  return builder.schedule;
}

Cost halving_doubling_allreduce_cost(const Shape& shape) {
  const Fold fold(shape.size());
  const double q = fold.power, rounds = 2 * floor_log2(fold.power), extra = fold.extra > 0, moved = 2 * (q - 1) / q;
  return {.rounds = rounds + 2 * extra, .messages = rounds + extra, .sent = moved + extra, .received = moved + extra, .added = moved + 2 * extra};
}

}  // namespace smddp::coll
