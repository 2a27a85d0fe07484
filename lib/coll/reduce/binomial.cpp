// Binomial tree: ranks are numbered from the root on; a rank waits for its subtrees of 1, 2, 4 … ranks, adds its own vector and their
// sums in one pass, and sends the sum to its parent. Each subtree is an interval of ranks, if one goes round from the last rank to the
// first; a rank adds its own vector and its subtrees in the order in which they begin.
// Cost: ⌊log2 p⌋ messages in a row, n bytes sent; the root receives n ⌈log2 p⌉.
// Use it: for small and, in segments, middle n.
#include "coll/math.hpp"
#include "coll/reduce/reduce.hpp"

#include <algorithm>

namespace smddp::coll {

void add_binomial_reduce(Builder& builder, const std::vector<int>& peers, int index, int root, const Slice& own) {
  const int n = static_cast<int>(peers.size()), me = (index - root + n) % n;
  const auto rank_at = [&](int place) { return peers[static_cast<size_t>((place + root) % n)]; };
  const int subtree = me ? me & -me : 1 << ceil_log2(n);
  std::vector<std::pair<int, Slice>> parts = {{(me + root) % n, own}};  // where each begins
  for (int distance = 1; distance < subtree && me + distance < n; distance *= 2) {
    parts.emplace_back((me + distance + root) % n, Builder::scratch(builder.schedule.scratch_slots++, 0, builder.schedule.parts));
    builder.recv(rank_at(me + distance), parts.back().second);
  }
  const Slice sum = me == 0 ? builder.whole(Buffer::kReceive) : parts.back().second;
  std::sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Slice> inputs;
  for (const auto& [begin, slice] : parts) inputs.push_back(slice);
  if (me == 0 || inputs.size() > 1) builder.reduce(inputs, sum, me == 0);
  if (me == 0) return;
  builder.send(rank_at(me - subtree), sum);
}

Schedule binomial_reduce(const Position& position) {
  Builder builder(Collective::kReduce, "binomial", position);
  builder.schedule.segmented = true;
  add_binomial_reduce(builder, all_ranks(position.shape), position.rank, position.root, builder.whole(Buffer::kSend));
  return builder.schedule;
}

Cost binomial_reduce_cost(const Shape& shape) {
  const double most = ceil_log2(shape.size());
  return {.rounds = static_cast<double>(floor_log2(shape.size())), .messages = most, .sent = 1, .received = most, .added = 1 + most};
}

}  // namespace smddp::coll
