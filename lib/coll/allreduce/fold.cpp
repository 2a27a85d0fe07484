#include "coll/allreduce/fold.hpp"

namespace smddp::coll {

Slice add_fold_in(Builder& builder, const Fold& fold, int rank, uint32_t slot) {
  const Slice own = builder.whole(Buffer::kSend);
  if (rank >= 2 * fold.extra) return own;
  if (rank % 2 == 0) {
    builder.send(rank + 1, own);
    return own;
  }
  const Slice theirs = Builder::scratch(slot, 0, builder.schedule.parts), sum = builder.whole(Buffer::kReceive);
  builder.recv(rank - 1, theirs);
  builder.reduce({theirs, own}, sum, false);
  return sum;
}

void add_fold_out(Builder& builder, const Fold& fold, int rank) {
  if (rank >= 2 * fold.extra) return;
  const Slice result = builder.whole(Buffer::kReceive);
  if (rank % 2) builder.send(rank - 1, result); else builder.recv(rank + 1, result);
}

}  // namespace smddp::coll
