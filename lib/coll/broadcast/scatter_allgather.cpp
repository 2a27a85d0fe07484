// Scatter and allgather, each in one hop: the vector is cut into p − 1 shares; the root sends each other rank one, and each passes its
// share on to all but the root.
// Cost: 2 messages in a row (1 for two ranks), n bytes sent.
// Use it: for large n: no rank, and the root neither, sends more than the vector.
// After van de Geijn, On global combine operations, JPDC 1994, with direct messages instead of a tree and a ring.
#include "coll/broadcast/broadcast.hpp"

#include <algorithm>

namespace smddp::coll {

void add_scatter_allgather(Builder& builder, const std::vector<int>& peers, int index, int root) {
  const int n = static_cast<int>(peers.size()), me = (index - root + n) % n;
  const auto rank_at = [&](int place) { return peers[static_cast<size_t>((place + root) % n)]; };
  const auto share_of_place = [&](int place) { return builder.share(Buffer::kReceive, static_cast<uint32_t>(place - 1)); };
  if (me == 0) {
    for (int place = 1; place < n; ++place) builder.send(rank_at(place), share_of_place(place));
    return;
  }
  builder.recv(rank_at(0), share_of_place(me));
  // From the next one on, so that nobody is everybody's first.
  const auto other = [&](int distance) { return (me - 1 + distance) % (n - 1) + 1; };
  for (int d = 1; d < n - 1; ++d) builder.recv(rank_at(other(n - 1 - d)), share_of_place(other(n - 1 - d)));
  for (int d = 1; d < n - 1; ++d) builder.send(rank_at(other(d)), share_of_place(me));
}

Schedule scatter_allgather_broadcast(const Position& position) {
  Builder builder(Collective::kBroadcast, "scatter_allgather", position);
  builder.schedule.segmented = true;
  builder.schedule.parts = static_cast<uint32_t>(std::max(1, position.shape.size() - 1));
  add_scatter_allgather(builder, all_ranks(position.shape), position.rank, position.root);
  return builder.schedule;
}

Cost scatter_allgather_broadcast_cost(const Shape& shape) {
  const double p = shape.size();
  return {.rounds = p > 2 ? 2.0 : 1.0, .messages = p - 1, .sent = 1, .received = 1};
}

}  // namespace smddp::coll
