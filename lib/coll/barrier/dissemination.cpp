// Dissemination: in round r each rank tells rank + 2^r that it and the min(2^r, p − 2^r) − 1 ranks before it are there, once it has heard of
// them, and hears the same from rank − 2^r.
// Cost, with q the largest power of two in p: log2 q messages in a row, or one more if p > 3 q / 2; ⌈log2 p⌉ messages, without data.
// Use it: always.
// Hensgen, Finkel and Manber, Two algorithms for barrier synchronization, IJPP 1988.
#include "coll/barrier/barrier.hpp"
#include "coll/math.hpp"

#include <algorithm>

namespace smddp::coll {

std::vector<uint32_t> add_dissemination(Builder& builder, const std::vector<int>& peers, int index, const std::vector<uint32_t>& before) {
  const int n = static_cast<int>(peers.size());
  std::vector<uint32_t> receives;  // that of round r tells of ranks at distances 2^r to 2^(r + 1) − 1
  for (int distance = 1; distance < n; distance *= 2) {
    const uint32_t send = builder.send(peers[static_cast<size_t>((index + distance) % n)], kNothing);
    for (const uint32_t step : before) builder.order(step, send);
    const auto rounds = static_cast<size_t>(ceil_log2(std::min(distance, n - distance)));
    for (size_t r = 0; r < rounds; ++r) builder.order(receives[r], send);
    receives.push_back(builder.recv(peers[static_cast<size_t>((index + n - distance) % n)], kNothing));
  }
  return receives;
}

Schedule dissemination_barrier(const Position& position) {
  Builder builder(Collective::kBarrier, "dissemination", position);
  add_dissemination(builder, all_ranks(position.shape), position.rank, {});
  return builder.schedule;
}

Cost dissemination_barrier_cost(const Shape& shape) {
  return {.rounds = static_cast<double>(spread_rounds(shape.size())), .messages = static_cast<double>(ceil_log2(shape.size()))};
}

}  // namespace smddp::coll
