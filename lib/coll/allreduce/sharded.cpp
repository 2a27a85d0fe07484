// Sharded: the vector is cut into an equal shard for each server, and every rank is one. In round 0 each rank sends every shard to its
// server, which adds the contributions in rank order; in round 1 each server sends the sum of its shard to every rank. All servers work at
// the same time, and every link carries the same number of bytes in both directions.
// Cost: 2 messages in a row, 2 n (p − 1) / p bytes sent.
// Use it: from a few KiB for each rank up, as long as p messages to post take less time than their bytes to send.
// Thangakrishnan et al., Herring: Rethinking the Parameter Server at Scale for the Cloud, SC 2020.
#include "coll/allreduce/allreduce.hpp"

namespace smddp::coll {

void add_sharded(Builder& builder, const std::vector<int>& peers, int index, uint32_t first, Buffer source) {
  const int n = static_cast<int>(peers.size());
  const uint32_t mine = first + static_cast<uint32_t>(index);
  // Peers are met from the next one on, so that no server is everybody's first.
  const auto peer_at = [&](int distance) { return (index + distance) % n; };
  const auto peer_rank = [&](int peer) { return peers[static_cast<size_t>(peer)]; };
  std::vector<Slice> contributions;
  for (int peer = 0; peer < n; ++peer) {
    const auto slot = static_cast<uint32_t>(peer < index ? peer : peer - 1);
    contributions.push_back(peer == index ? builder.share(source, mine) : Builder::scratch(slot, mine));
  }
  for (int d = 1; d < n; ++d) {
    const int from = peer_at(n - d);
    builder.recv(peer_rank(from), contributions[static_cast<size_t>(from)]);
  }
  for (int d = 1; d < n; ++d) builder.send(peer_rank(peer_at(d)), builder.share(source, first + static_cast<uint32_t>(peer_at(d))));
  for (int d = 1; d < n; ++d) {
    const int from = peer_at(n - d);
    builder.recv(peer_rank(from), builder.share(Buffer::kReceive, first + static_cast<uint32_t>(from)));
  }
  builder.reduce(contributions, builder.share(Buffer::kReceive, mine), true);
  for (int d = 1; d < n; ++d) builder.send(peer_rank(peer_at(d)), builder.share(Buffer::kReceive, mine));
}

Schedule sharded_allreduce(const Position& position) {
  Builder builder(Collective::kAllreduce, "sharded", position);
  const int size = position.shape.size();
  builder.schedule.segmented = true;
  builder.schedule.parts = static_cast<uint32_t>(size);
  builder.schedule.scratch_slots = static_cast<uint32_t>(size - 1);
  add_sharded(builder, all_ranks(position.shape), position.rank, 0, Buffer::kSend);
  return builder.schedule;
}

Cost sharded_allreduce_cost(const Shape& shape) {
  const double p = shape.size();
  return {.rounds = 2, .messages = 2 * (p - 1), .sent = 2 * (p - 1) / p, .received = 2 * (p - 1) / p, .added = 1};
}

}  // namespace smddp::coll
