#include "coll/verify/order.hpp"

#include "base/error.hpp"

#include <algorithm>
#include <map>

namespace smddp::coll {
namespace {

// The instances of one rank in an order that respects what the rank itself ensures, and for each the set of those before it.
struct LocalOrder {
  std::vector<uint32_t> sequence;
  std::vector<std::vector<uint64_t>> before;
  bool is_before(uint32_t a, uint32_t b) const { return before[b][a / 64] >> a % 64 & 1; }
};

// Edges between the instances (segment × steps + step) of a rank.
std::vector<std::vector<uint32_t>> predecessors(const Plan& plan, int rank) {
  const Schedule& schedule = plan.of(rank);
  const auto steps = static_cast<uint32_t>(schedule.steps.size());
  const uint32_t segments = plan.trial.segments, window = plan.trial.window;
  std::vector<std::vector<uint32_t>> edges(segments * steps);
  for (uint32_t segment = 0; segment < segments; ++segment) {
    for (uint32_t i = 0; i < steps; ++i) {
      auto& before = edges[segment * steps + i];
      for (const Dependency& d : schedule.steps[i].after) {
        if (d.segments_back <= segment) before.push_back((segment - d.segments_back) * steps + d.step);
      }
      for (uint32_t j = 0; segment >= window && j < steps; ++j) before.push_back((segment - window) * steps + j);
    }
  }
  std::vector<std::pair<uint32_t, uint32_t>> nodes;  // when, instance
  const uint32_t lag = node_lag(schedule, window);
  for (uint32_t k = 0; k < plan.node_steps(rank).size(); ++k) {
    for (uint32_t segment = 0; segment < segments; ++segment) nodes.emplace_back(segment + k * lag, segment * steps + plan.node_steps(rank)[k]);
  }
  std::stable_sort(nodes.begin(), nodes.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (size_t i = 1; i < nodes.size(); ++i) edges[nodes[i].second].push_back(nodes[i - 1].second);
  return edges;
}

bool sort(const std::vector<std::vector<uint32_t>>& edges, LocalOrder& order) {
  const size_t words = edges.size() / 64 + 1;
  std::vector<uint8_t> state(edges.size());  // 0 unseen, 1 on the way, 2 done
  order.before.assign(edges.size(), std::vector<uint64_t>(words));
  std::vector<std::pair<uint32_t, size_t>> stack;
  for (uint32_t start = 0; start < edges.size(); ++start) {
    if (state[start]) continue;
    stack.emplace_back(start, 0);
    state[start] = 1;
    while (!stack.empty()) {
      auto& [i, next] = stack.back();
      if (next == edges[i].size()) {
        for (const uint32_t j : edges[i]) {
          order.before[i][j / 64] |= uint64_t{1} << j % 64;
          for (size_t word = 0; word < words; ++word) order.before[i][word] |= order.before[j][word];
        }
        state[i] = 2;
        order.sequence.push_back(i);
        stack.pop_back();
        continue;
      }
      const uint32_t j = edges[i][next++];
      if (state[j] == 1) return false;
      if (state[j] == 0) {
        state[j] = 1;
        stack.emplace_back(j, 0);
      }
    }
  }
  return true;
}

struct Access {
  uint32_t instance;
  bool writes;
};

}  // namespace

std::string find_race(const Plan& plan) {
  for (int rank = 0; rank < plan.members(); ++rank) {
    LocalOrder order;
    if (!sort(predecessors(plan, rank), order)) return format("rank %d waits for itself", rank);
    const auto steps = static_cast<uint32_t>(plan.of(rank).steps.size());
    std::map<uint64_t, std::vector<Access>> memory;
    for (uint32_t segment = 0; segment < plan.trial.segments; ++segment) {
      for (uint32_t i = 0; i < steps; ++i) {
        const ScheduleStep& step = plan.of(rank).steps[i];
        if (plan.is_idle(rank, step)) continue;
        const auto touch = [&](const Slice& slice, bool writes) {
          for (const Location& location : plan.locations(rank, slice, segment)) {
            // A slot as a whole: slices of different lengths begin at the same place.
            const uint64_t key = slice.buffer == Buffer::kScratch ? location.memory >> 30 << 30 : location.memory;
            if (location.length) memory[key].push_back({segment * steps + i, writes});
          }
        };
        for (const Slice& input : step.inputs) touch(input, false);
        touch(step.target, true);
      }
    }
    for (const auto& [key, accesses] : memory) {
      for (const Access& a : accesses) {
        for (const Access& b : accesses) {
          if (!a.writes || a.instance == b.instance || order.is_before(a.instance, b.instance) || order.is_before(b.instance, a.instance)) continue;
          return name_of(plan, {rank, a.instance / steps, a.instance % steps}) + " writes what step " +
                 format("%u of segment %u may touch at the same time", b.instance % steps, b.instance / steps);
        }
      }
    }
  }
  return "";
}

}  // namespace smddp::coll
