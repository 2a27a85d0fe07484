// Binomial tree: ranks are numbered from the root on; in round r each rank below 2^r that has the data passes it on to the one 2^r away.
// A rank serves its largest subtree first.
// Cost: ⌊log2 p⌋ messages in a row, n ⌈log2 p⌉ bytes sent.
// Use it: for small n; in segments, as a pipeline, for middle n.
#include "coll/broadcast/broadcast.hpp"
#include "coll/math.hpp"

namespace smddp::coll {

void add_binomial_broadcast(Builder& builder, const std::vector<int>& peers, int index, int root) {
  const int n = static_cast<int>(peers.size()), me = (index - root + n) % n;
  const auto rank_at = [&](int place) { return peers[static_cast<size_t>((place + root) % n)]; };
  const int subtree = me ? me & -me : 1 << ceil_log2(n);  // of so many places, as far as there are
  if (me) builder.recv(rank_at(me - subtree), builder.whole(Buffer::kReceive));
  for (int distance = subtree / 2; distance > 0; distance /= 2) {
    if (me + distance < n) builder.send(rank_at(me + distance), builder.whole(Buffer::kReceive));
  }
}

Schedule binomial_broadcast(const Position& position) {
  Builder builder(Collective::kBroadcast, "binomial", position);
  builder.schedule.segmented = true;
  add_binomial_broadcast(builder, all_ranks(position.shape), position.rank, position.root);
  return builder.schedule;
}

Cost binomial_broadcast_cost(const Shape& shape) {
  const double most = ceil_log2(shape.size());
  return {.rounds = static_cast<double>(floor_log2(shape.size())), .messages = most, .sent = most, .received = 1};
}

}  // namespace smddp::coll
