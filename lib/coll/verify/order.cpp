#include "coll/verify/order.hpp"

#include "base/error.hpp"

#include <algorithm>

namespace smddp::coll {
namespace {

enum class Edge : uint8_t {
  kOrder,    // waits
  kMessage,  // waits for data on the wire
  kMute,     // waits, but hears nothing: a send for its receive to be posted
};

struct Graph {
  explicit Graph(const Plan& plan) : plan(plan), next(2 * plan.instances() + static_cast<size_t>(plan.members()) * plan.trial.segments), waits(next.size()) {}

  void add(size_t from, size_t to, Edge edge = Edge::kOrder) {
    next[from].emplace_back(static_cast<uint32_t>(to), edge);
    ++waits[to];
  }
  static size_t begin(uint32_t instance) { return 2 * size_t{instance}; }
  static size_t end(uint32_t instance) { return 2 * size_t{instance} + 1; }
  size_t segment_ended(int rank, uint32_t segment) const {
    return 2 * size_t{plan.instances()} + static_cast<size_t>(rank) * plan.trial.segments + segment;
  }
  int rank_of(size_t vertex) const {
    const size_t steps = 2 * size_t{plan.instances()};
    return vertex < steps ? plan.instance(static_cast<uint32_t>(vertex / 2)).rank : static_cast<int>((vertex - steps) / plan.trial.segments);
  }

  const Plan& plan;
  std::vector<std::vector<std::pair<uint32_t, Edge>>> next;
  std::vector<uint32_t> waits;  // for so many
};

void add_steps(Graph& graph, int rank, uint32_t segment) {
  const Plan& plan = graph.plan;
  const auto& steps = plan.of(rank).steps;
  for (uint32_t i = 0; i < steps.size(); ++i) {
    const uint32_t me = plan.number(rank, segment, i);
    graph.add(Graph::begin(me), Graph::end(me));
    graph.add(Graph::end(me), graph.segment_ended(rank, segment));
    if (segment >= plan.trial.window) graph.add(graph.segment_ended(rank, segment - plan.trial.window), Graph::begin(me));
    for (const Dependency& d : steps[i].after) {
      if (d.segments_back <= segment) graph.add(Graph::end(plan.number(rank, segment - d.segments_back, d.step)), Graph::begin(me));
    }
    // A message without elements is not sent, one of nothing is.
    if (steps[i].kind == StepKind::kSend && (plan.elements(steps[i].inputs[0], segment) || steps[i].inputs[0].blocks == 0)) {
      const uint32_t recv = plan.number(steps[i].peer, segment, plan.partner(rank, i));
      graph.add(Graph::begin(me), Graph::end(recv), Edge::kMessage);
      graph.add(Graph::begin(recv), Graph::end(me), Edge::kMute);
    }
  }
}

void add_node_steps(Graph& graph, const std::vector<int>& ranks) {
  const Plan& plan = graph.plan;
  struct Entry {
    uint32_t when, k, segment;
  };
  std::vector<Entry> entries;
  const uint32_t lag = node_lag(plan.of(ranks[0]), plan.trial.window);
  for (uint32_t k = 0; k < plan.node_steps(ranks[0]).size(); ++k) {
    for (uint32_t segment = 0; segment < plan.trial.segments; ++segment) entries.push_back({segment + k * lag, k, segment});
  }
  std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.when < b.when; });
  const auto number = [&](int rank, const Entry& entry) { return plan.number(rank, entry.segment, plan.node_steps(rank)[entry.k]); };
  for (size_t i = 0; i < entries.size(); ++i) {
    for (size_t a = 0; a < ranks.size(); ++a) {
      if (i > 0) graph.add(Graph::end(number(ranks[a], entries[i - 1])), Graph::begin(number(ranks[a], entries[i])));
      const ScheduleStep& step = plan.of(ranks[a]).steps[plan.node_steps(ranks[a])[entries[i].k]];
      for (size_t b = 0; b < ranks.size(); ++b) {
        if (a == b) continue;
        const bool data = carries_data(step, static_cast<int>(a), static_cast<int>(b));
        graph.add(Graph::begin(number(ranks[a], entries[i])), Graph::end(number(ranks[b], entries[i])), data ? Edge::kOrder : Edge::kMute);
      }
    }
  }
}

void count(const Plan& plan, Traffic& traffic) {
  for (int rank = 0; rank < plan.members(); ++rank) {
    uint32_t messages[2] = {};
    size_t elements[2] = {}, added = 0;
    for (uint32_t segment = 0; segment < plan.trial.segments; ++segment) {
      for (const ScheduleStep& step : plan.of(rank).steps) {
        for (const Slice& input : step.inputs) added += step.kind == StepKind::kReduce ? plan.elements(input, segment) : 0;
        if (step.kind != StepKind::kSend && step.kind != StepKind::kRecv) continue;
        const bool sends = step.kind == StepKind::kSend;
        const Slice& slice = sends ? step.inputs[0] : step.target;
        messages[sends] += plan.elements(slice, segment) || slice.blocks == 0;
        elements[sends] += plan.elements(slice, segment);
      }
    }
    traffic.messages = std::max({traffic.messages, messages[0], messages[1]});
    traffic.sent_elements = std::max(traffic.sent_elements, elements[true]);
    traffic.received_elements = std::max(traffic.received_elements, elements[false]);
    traffic.added_elements = std::max(traffic.added_elements, added);
  }
}

}  // namespace

std::string find_order(const Plan& plan, Order& order) {
  Graph graph(plan);
  for (int rank = 0; rank < plan.members(); ++rank) {
    for (uint32_t segment = 0; segment < plan.trial.segments; ++segment) add_steps(graph, rank, segment);
  }
  for (const auto& ranks : plan.shape.nodes) add_node_steps(graph, ranks);

  std::vector<uint32_t> rounds(graph.next.size());
  std::vector<uint64_t> heard(graph.next.size());
  order.heard.assign(static_cast<size_t>(plan.members()), 0);
  std::vector<uint32_t> ready;
  for (uint32_t vertex = 0; vertex < graph.next.size(); ++vertex) {
    if (graph.waits[vertex] == 0) ready.push_back(vertex);
  }
  size_t left = graph.next.size();
  for (; !ready.empty(); --left) {
    const uint32_t vertex = ready.back();
    ready.pop_back();
    if (vertex < 2 * plan.instances()) order.vertices.push_back(vertex);
    const auto rank = static_cast<size_t>(graph.rank_of(vertex));
    heard[vertex] |= uint64_t{1} << rank;
    order.heard[rank] |= heard[vertex];
    order.traffic.rounds = std::max(order.traffic.rounds, rounds[vertex]);
    for (const auto& [to, edge] : graph.next[vertex]) {
      if (edge != Edge::kMute) {
        rounds[to] = std::max(rounds[to], rounds[vertex] + (edge == Edge::kMessage));
        heard[to] |= heard[vertex];
      }
      if (--graph.waits[to] == 0) ready.push_back(to);
    }
  }
  for (uint32_t vertex = 0; left && vertex < 2 * plan.instances(); ++vertex) {
    if (graph.waits[vertex]) return name_of(plan, plan.instance(vertex / 2)) + format(" is one of %zu that wait in a circle", left);
  }
  count(plan, order.traffic);
  return "";
}

}  // namespace smddp::coll
