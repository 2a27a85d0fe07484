// Recursive doubling: in round r ranks at distance 2^r exchange what they have of the sum and add it, so that after log2 p rounds all
// have everything. Where p is no power of two, pairs of ranks fold into one first (allreduce/fold.hpp). Sums are in rank order; 16-bit
// types are rounded in each round.
// Cost, with q the largest power of two in p: log2 q messages in a row, n log2 q bytes sent; where p ≠ q n bytes more, and one message
// more in a row, or two if p > 3 q / 2.
// Use it: for small n on many ranks, where p messages to post take longer than log2 p in a row.
// Thakur, Rabenseifner and Gropp, Optimization of Collective Communication Operations in MPICH, IJHPCA 2005.
#include "coll/allreduce/allreduce.hpp"
#include "coll/allreduce/fold.hpp"

namespace smddp::coll {

Schedule recursive_doubling_allreduce(const Position& position) {
  Builder builder(Collective::kAllreduce, "recursive_doubling", position);
  const Fold fold(position.shape.size());
  const int place = fold.place_of(position.rank);
  const Slice result = builder.whole(Buffer::kReceive);
  builder.schedule.segmented = true;
  builder.schedule.scratch_slots = 2;  // one is received into while the other one is added
  if (fold.power == 1) builder.reduce({builder.whole(Buffer::kSend)}, result, true);
  Slice sum = add_fold_in(builder, fold, position.rank, 1);
  for (int r = 0; place >= 0 && r < floor_log2(fold.power); ++r) {
    const int partner = place ^ 1 << r;
    const Slice theirs = Builder::scratch(static_cast<uint32_t>(r % 2), 0);
    builder.recv(fold.rank_at(partner), theirs);
    builder.send(fold.rank_at(partner), sum);
    const bool last = 2 << r == fold.power;
    if (partner < place) builder.reduce({theirs, sum}, result, last); else builder.reduce({sum, theirs}, result, last);
    sum = result;
  }
  add_fold_out(builder, fold, position.rank);
  return builder.schedule;
}

Cost recursive_doubling_allreduce_cost(const Shape& shape) {
  const Fold fold(shape.size());
  const double rounds = floor_log2(fold.power), extra = fold.extra > 0;
  // The longest chain ends at the place opposite to where it began: both fold only if more than half of the places do.
  const double fold_rounds = extra + (2 * fold.extra > fold.power);
  return {.rounds = rounds + fold_rounds, .messages = rounds + extra, .sent = rounds + extra, .received = rounds + extra, .added = 2 * (rounds + extra)};
}

}  // namespace smddp::coll
