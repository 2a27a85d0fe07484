#include "coll/verify/replay.hpp"

#include "base/error.hpp"

#include <bit>
#include <map>
#include <optional>
#include <unordered_map>

namespace smddp::coll {
namespace {

struct Value {
  uint32_t block = 0, cell = 0;  // whose elements: of which block of the collective
  uint64_t ranks = 0;            // contributors
  bool finished = false;
  uint64_t sum = 0;  // how they were added: hash of the expression

  bool same_elements(const Value& other) const { return block == other.block && cell == other.cell; }
};
using Cell = std::optional<Value>;  // none: undefined, or without elements
using Values = std::vector<Cell>;

constexpr uint64_t bit(int rank) { return uint64_t{1} << rank; }
uint64_t mixed(uint64_t hash, uint64_t next) { return (hash ^ next) * 0x9e3779b97f4a7c15u + (hash >> 29); }

class Replay {
 public:
  explicit Replay(const Plan& plan)
      : plan_(plan), memory_(static_cast<size_t>(plan.members())), all_(plan.size() == 64 ? ~uint64_t{0} : bit(plan.size()) - 1) {}

  std::string run(const Order& order) {
    fill();
    for (const uint32_t vertex : order.vertices) {
      const Instance instance = plan_.instance(vertex / 2);
      problem_.clear();
      if (vertex % 2 == 0) begin(instance); else end(instance);
      if (!problem_.empty()) return name_of(plan_, instance) + ": " + problem_;
    }
    return check_results(order);
  }

 private:
  void fill() {
    for (int rank = 0; rank < plan_.size(); ++rank) {
      const bool broadcasts = plan_.of(rank).collective == Collective::kBroadcast;
      if (broadcasts && rank != plan_.of(rank).root) continue;
      const Buffer buffer = broadcasts ? Buffer::kReceive : Buffer::kSend;
      for (uint32_t block = 0; block < plan_.blocks_of(rank, buffer); ++block) {
        for (uint32_t cell = 0; cell < plan_.cell_count(); ++cell) {
          const uint32_t name = gathers(rank) ? static_cast<uint32_t>(rank) : block;
          memory_[static_cast<size_t>(rank)][plan_.user_memory(rank, buffer, block, cell)] = Value{name, cell, bit(rank), false, static_cast<uint64_t>(rank) + 1};
        }
      }
    }
  }

  void fault(const std::string& text) {
    if (problem_.empty()) problem_ = text;
  }

  bool gathers(int rank) const {
    return plan_.of(rank).collective == Collective::kAllgather || plan_.of(rank).collective == Collective::kGather;
  }

  void begin(const Instance& i) {
    const ScheduleStep& step = plan_.step(i);
    if (step.kind == StepKind::kSend) messages_[plan_.number(step.peer, i.segment, plan_.partner(i.rank, i.step))] = read(i, step.inputs[0]);
  }

  void end(const Instance& i) {
    const ScheduleStep& step = plan_.step(i);
    if (plan_.is_idle(i.rank, step)) return;
    switch (step.kind) {
      case StepKind::kSend: return;
      case StepKind::kRecv: {
        const auto found = messages_.find(plan_.number(i.rank, i.segment, i.step));
        return write(i, found == messages_.end() ? Values(plan_.locations(i.rank, step.target, i.segment).size()) : found->second);
      }
      case StepKind::kCopy: return write(i, read(i, step.inputs[0]));
      case StepKind::kReduce: {
        std::vector<Values> inputs;
        for (const Slice& input : step.inputs) inputs.push_back(read(i, input));
        return write(i, reduced(inputs, step.finish));
      }
      case StepKind::kNode: return end_node_step(i);
    }
  }

  Values read(const Instance& i, const Slice& slice) {
    Values values;
    auto& memory = memory_[static_cast<size_t>(i.rank)];
    for (const Location& location : plan_.locations(i.rank, slice, i.segment)) {
      const auto found = memory.find(location.memory);
      const bool defined = found != memory.end() && found->second;
      if (location.length && !defined) fault(format("reads %zu undefined elements", location.length));
      if (location.length && defined && plan_.cell_length(found->second->cell) != location.length) fault("reads elements of another cut");
      values.push_back(location.length && defined ? found->second : Cell());
    }
    return values;
  }

  void write(const Instance& i, const Values& values) {
    const ScheduleStep& step = plan_.step(i);
    const auto targets = plan_.locations(i.rank, step.target, i.segment);
    if (targets.size() != values.size()) {
      fault(format("%zu values for %zu places", values.size(), targets.size()));
      return;
    }
    auto& memory = memory_[static_cast<size_t>(i.rank)];
    std::map<uint64_t, Cell> overwritten;  // what this step also reads
    for (const Slice& input : step.inputs) {
      for (const Location& location : plan_.locations(i.rank, input, i.segment)) {
        const auto found = memory.find(location.memory);
        if (location.length && found != memory.end()) overwritten.emplace(location.memory, found->second);
      }
    }
    for (size_t k = 0; k < targets.size(); ++k) {
      if (targets[k].length == 0) continue;
      if (!values[k] || plan_.cell_length(values[k]->cell) != targets[k].length) {
        fault("writes elements of another cut");
        return;
      }
      const auto old = overwritten.find(targets[k].memory);
      if (old != overwritten.end() && !old->second->same_elements(*values[k])) fault("overwrites what it still reads");
      memory[targets[k].memory] = values[k];
    }
  }

  Values reduced(const std::vector<Values>& inputs, bool finish) {
    Values sums = inputs[0];
    for (size_t k = 0; k < sums.size(); ++k) {
      if (!sums[k]) continue;
      uint64_t sum = sums[k]->sum;
      bool all_apart = std::has_single_bit(sums[k]->ranks), ascending = true;
      uint64_t last = sums[k]->ranks;
      for (size_t j = 1; j < inputs.size(); ++j) {
        const Cell& input = inputs[j].size() == sums.size() ? inputs[j][k] : Cell();
        if (!input || !input->same_elements(*sums[k])) {
          fault("adds different elements");
          return sums;
        }
        if (input->finished || sums[k]->finished) fault("adds to what is finished");
        if (input->ranks & sums[k]->ranks) fault(format("adds contributions twice (ranks %#llx)", static_cast<unsigned long long>(input->ranks & sums[k]->ranks)));
        all_apart = all_apart && std::has_single_bit(input->ranks);
        ascending = ascending && input->ranks > last;
        last = input->ranks;
        sums[k]->ranks |= input->ranks;
        sum = mixed(sum, input->sum);
      }
      sums[k]->sum = inputs.size() > 1 ? mixed(sum, inputs.size()) : sum;
      if (all_apart && !ascending && sums[k]->ranks == all_ && inputs.size() > 2) fault("adds all contributions, not in rank order");
      if (finish && sums[k]->ranks != all_) fault(format("finishes with contributions missing (only ranks %#llx)", static_cast<unsigned long long>(sums[k]->ranks)));
      sums[k]->finished = sums[k]->finished || finish;
    }
    return sums;
  }

  // The first to end does it for all: none of them can have changed its input or used its target yet.
  void end_node_step(const Instance& i) {
    const auto& ranks = plan_.shape.node_of(i.rank);
    const uint32_t k = plan_.node_index(i.rank, i.step);
    if (!done_.emplace(std::tuple(plan_.shape.places[static_cast<size_t>(i.rank)].node, i.segment, k), true).second) return;
    std::vector<Instance> members;
    for (const int rank : ranks) members.push_back({rank, i.segment, plan_.node_steps(rank)[k]});
    const ScheduleStep& step = plan_.step(i);
    std::vector<Values> inputs;
    for (const Instance& member : members) inputs.push_back(read(member, plan_.step(member).inputs[0]));
    if (!problem_.empty()) return;
    const auto root = static_cast<size_t>(step.root);
    const size_t n = members.size(), lanes = plan_.of(i.rank).lanes;
    std::vector<Values> results(n);
    switch (step.node) {
      case NodeStep::kNone:
      case NodeStep::kBarrier: break;
      case NodeStep::kWhole: whole_ = true; return;
      case NodeStep::kReduceShares: {
        const Values sums = reduced(inputs, step.finish);
        const auto share = static_cast<ptrdiff_t>(sums.size() / lanes);
        for (size_t l = 0; l < lanes && l < n; ++l) results[l].assign(sums.begin() + static_cast<ptrdiff_t>(l) * share, sums.begin() + static_cast<ptrdiff_t>(l + 1) * share);
        break;
      }
      case NodeStep::kGatherShares:
        for (size_t l = 1; l < n; ++l) inputs[0].insert(inputs[0].end(), inputs[l].begin(), inputs[l].end());
        results.assign(n, inputs[0]);
        break;
      case NodeStep::kBroadcast:
        results.assign(n, inputs[root]);
        results[root].clear();
        break;
      case NodeStep::kReduce: results[root] = reduced(inputs, step.finish); break;
      case NodeStep::kGather:
        for (const Values& input : inputs) results[root].insert(results[root].end(), input.begin(), input.end());
        break;
      case NodeStep::kScatter:
      case NodeStep::kAlltoall:
        for (size_t to = 0; to < n; ++to) {
          for (size_t from = 0; from < n; ++from) {
            if (step.node == NodeStep::kScatter && from != root) continue;
            const auto block = static_cast<ptrdiff_t>(inputs[from].size() / n);
            const auto first = inputs[from].begin() + static_cast<ptrdiff_t>(to) * block;
            results[to].insert(results[to].end(), first, first + block);
          }
        }
        break;
    }
    for (size_t l = 0; l < n && problem_.empty(); ++l) write(members[l], results[l]);
  }

  std::string check_results(const Order& order) {
    if (whole_) return "";
    std::map<std::pair<uint32_t, uint32_t>, uint64_t> sums;
    for (int rank = 0; rank < plan_.size(); ++rank) {
      const Schedule& schedule = plan_.of(rank);
      if (schedule.collective == Collective::kBarrier && order.heard[static_cast<size_t>(rank)] != all_) return format("rank %d leaves the barrier too early", rank);
      for (uint32_t block = 0; block < plan_.blocks_of(rank, Buffer::kReceive); ++block) {
        for (uint32_t cell = 0; cell < plan_.cell_count(); ++cell) {
          if (plan_.cell_length(cell) == 0) continue;
          const Cell& value = memory_[static_cast<size_t>(rank)][plan_.user_memory(rank, Buffer::kReceive, block, cell)];
          const Value expected = result_at(rank, block, cell);
          const std::string place = format("rank %d, block %u, cell %u of the result", rank, block, cell);
          if (!value) return place + ": undefined";
          if (!value->same_elements(expected)) return place + format(": elements of block %u, cell %u", value->block, value->cell);
          if (value->ranks != expected.ranks) return place + format(": contributions of ranks %#llx", static_cast<unsigned long long>(value->ranks));
          if (value->finished != expected.finished) return place + ": never finished";
          if (expected.finished && sums.emplace(std::pair(value->block, cell), value->sum).first->second != value->sum) return place + ": added in another order than elsewhere";
        }
      }
    }
    return "";
  }

  Value result_at(int rank, uint32_t block, uint32_t cell) const {
    const Schedule& schedule = plan_.of(rank);
    const auto me = static_cast<uint32_t>(rank);
    switch (schedule.collective) {
      case Collective::kReduceScatter: return {me, cell, all_, true};
      case Collective::kAllgather:
      case Collective::kGather: return {block, cell, bit(static_cast<int>(block))};
      case Collective::kAlltoall: return {me, cell, bit(static_cast<int>(block))};
      case Collective::kScatter: return {me, cell, bit(schedule.root)};
      case Collective::kBroadcast: return {0, cell, bit(schedule.root)};
      default: return {0, cell, all_, true};
    }
  }

  const Plan& plan_;
  std::vector<std::unordered_map<uint64_t, Cell>> memory_;
  std::unordered_map<uint32_t, Values> messages_;  // by the step that receives them
  std::map<std::tuple<int, uint32_t, uint32_t>, bool> done_;
  uint64_t all_;
  bool whole_ = false;
  std::string problem_;
};

}  // namespace

std::string replay(const Plan& plan, const Order& order) { return Replay(plan).run(order); }

}  // namespace smddp::coll
