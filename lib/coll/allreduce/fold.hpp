// Butterflies need a power of two. With p = power + extra ranks, the first 2 × extra ranks fold in pairs: the even one gives its vector to
// the odd one, stays out, and gets the result at the end. So sums stay in rank order.
#pragma once

#include "coll/builder.hpp"
#include "coll/math.hpp"

namespace smddp::coll {

struct Fold {
  explicit Fold(int size) : power(floor_power(size)), extra(size - power) {}
  int power, extra;

  // Place in the butterfly, −1 for a rank that stays out; and back.
  int place_of(int rank) const { return rank >= 2 * extra ? rank - extra : rank % 2 ? rank / 2 : -1; }
  int rank_at(int place) const { return place < extra ? 2 * place + 1 : place + extra; }
};

// Adds the steps before the butterfly and returns where this rank's contribution to it is; slot: of scratch, for the whole vector.
Slice add_fold_in(Builder& builder, const Fold& fold, int rank, uint32_t slot);
void add_fold_out(Builder& builder, const Fold& fold, int rank);

}  // namespace smddp::coll
