#include "coll/verify/plan.hpp"

#include "base/error.hpp"
#include "base/shares.hpp"

#include <algorithm>
#include <map>
#include <tuple>

namespace smddp::coll {

std::string Plan::make() {
  if (members() > 64) return format("%d ranks; the verifier can do 64", members());
  if (schedules.empty() || members() != size() + of(0).servers) return format("%zu schedules for %d ranks", schedules.size(), size());
  if (const std::string problem = check_alike(); !problem.empty()) return problem;
  cut();
  first_ = {0};
  for (const Schedule& schedule : schedules) {
    first_.push_back(first_.back() + trial.segments * static_cast<uint32_t>(schedule.steps.size()));
    std::string problem = check(schedule);
    if (problem.empty()) problem = check_buffers(schedule.rank);
    if (!problem.empty()) return problem;
  }
  if (const std::string problem = match_messages(); !problem.empty()) return problem;
  return match_node_steps();
}

std::string Plan::check_alike() const {
  const Schedule& first = schedules[0];
  for (int rank = 0; rank < members(); ++rank) {
    const Schedule& one = of(rank);
    if (one.rank != rank || one.size != size()) return format("schedule %d is of rank %d of %d", rank, one.rank, one.size);
    if (one.collective != first.collective || one.root != first.root || one.segmented != first.segmented || one.parts != first.parts ||
        one.lanes != first.lanes || one.servers != first.servers) {
      return format("ranks 0 and %d cut the vector differently", rank);
    }
  }
  return trial.segments > 1 && !first.segmented ? "segments of a schedule that has none" : "";
}

// Cells of a block, by the arithmetic that the executor uses.
void Plan::cut() {
  const int parts = static_cast<int>(of(0).parts);
  const size_t whole = (trial.count + trial.segments - 1) / trial.segments;
  const size_t elements = (whole + kShareElements - 1) / kShareElements * kShareElements;
  for (uint32_t segment = 0; segment < trial.segments; ++segment) {
    const size_t length = segment_of(trial.count, segment, elements).length;
    for (int share = 0; share < parts; ++share) cells_.push_back(share_of(length, parts, share).length);
  }
}

uint32_t Plan::blocks_of(int rank, Buffer buffer) const {
  if (rank >= size()) return 0;
  const bool sends = buffer == Buffer::kSend, root = rank == of(rank).root;
  const auto all = static_cast<uint32_t>(size());
  switch (of(rank).collective) {
    case Collective::kAllreduce: return 1;
    case Collective::kBroadcast: return sends ? 0 : 1;
    case Collective::kReduce: return sends || root ? 1 : 0;
    case Collective::kAllgather: return sends ? 1 : all;
    case Collective::kReduceScatter: return sends ? all : 1;
    case Collective::kAlltoall: return all;
    case Collective::kGather: return sends ? 1 : root ? all : 0;
    case Collective::kScatter: return !sends ? 1 : root ? all : 0;
    default: return 0;
  }
}

std::string Plan::check_buffers(int rank) const {
  const Schedule& schedule = of(rank);
  for (size_t i = 0; i < schedule.steps.size(); ++i) {
    const ScheduleStep& step = schedule.steps[i];
    std::vector<Slice> slices = step.inputs;
    slices.push_back(step.target);
    for (const Slice& slice : slices) {
      if (slice.blocks && slice.buffer != Buffer::kScratch && slice.block + slice.blocks > blocks_of(rank, slice.buffer)) {
        return format("rank %d, step %zu: block %u of a buffer of %u", rank, i, slice.block + slice.blocks - 1, blocks_of(rank, slice.buffer));
      }
    }
  }
  return "";
}

std::string Plan::match_messages() {
  std::map<std::tuple<int, int, uint32_t>, uint32_t> sends;
  partners_.resize(schedules.size());
  for (int rank = 0; rank < members(); ++rank) {
    const auto& steps = of(rank).steps;
    partners_[static_cast<size_t>(rank)].resize(steps.size());
    for (uint32_t i = 0; i < steps.size(); ++i) {
      if (steps[i].kind == StepKind::kSend && !sends.emplace(std::tuple(rank, steps[i].peer, steps[i].tag), i).second) {
        return format("rank %d sends tag %u twice to rank %d", rank, steps[i].tag, steps[i].peer);
      }
    }
  }
  std::map<std::tuple<int, int, uint32_t>, uint32_t> taken;
  for (int rank = 0; rank < members(); ++rank) {
    const auto& steps = of(rank).steps;
    for (uint32_t i = 0; i < steps.size(); ++i) {
      if (steps[i].kind != StepKind::kRecv) continue;
      const std::tuple key(steps[i].peer, rank, steps[i].tag);
      const auto found = sends.find(key);
      if (found == sends.end()) return format("rank %d, step %u: rank %d sends it no tag %u", rank, i, steps[i].peer, steps[i].tag);
      if (!taken.emplace(key, i).second) return format("rank %d receives tag %u twice from rank %d", rank, steps[i].tag, steps[i].peer);
      const Slice& source = of(steps[i].peer).steps[found->second].inputs[0];
      for (uint32_t segment = 0; segment < trial.segments; ++segment) {
        const size_t sent = elements(source, segment), received = elements(steps[i].target, segment);
        if (sent != received || (source.blocks == 0) != (steps[i].target.blocks == 0)) {
          return format("rank %d, step %u: %zu elements for a message of %zu from rank %d", rank, i, received, sent, steps[i].peer);
        }
      }
      partners_[static_cast<size_t>(rank)][i] = found->second;
      partners_[static_cast<size_t>(steps[i].peer)][found->second] = i;
    }
  }
  for (const auto& [key, step] : sends) {
    if (!taken.count(key)) return format("rank %d, step %u: rank %d never receives it", std::get<0>(key), step, std::get<1>(key));
  }
  return "";
}

std::string Plan::match_node_steps() {
  node_steps_.resize(schedules.size());
  for (int rank = 0; rank < members(); ++rank) {
    const auto& steps = of(rank).steps;
    for (uint32_t i = 0; i < steps.size(); ++i) {
      if (steps[i].kind != StepKind::kNode) continue;
      if (rank >= size()) return format("server %d has a node step", rank - size());
      node_steps_[static_cast<size_t>(rank)].push_back(i);
    }
  }
  for (const auto& ranks : shape.nodes) {
    const auto& first = node_steps(ranks[0]);
    for (const int rank : ranks) {
      const auto& mine = node_steps(rank);
      if (mine.size() != first.size()) return format("ranks %d and %d have %zu and %zu node steps", ranks[0], rank, first.size(), mine.size());
      for (size_t k = 0; k < mine.size(); ++k) {
        const ScheduleStep &a = of(ranks[0]).steps[first[k]], &b = of(rank).steps[mine[k]];
        if (a.node != b.node || a.root != b.root || a.finish != b.finish) return format("node step %zu differs on ranks %d and %d", k, ranks[0], rank);
        if (a.root < 0 || a.root >= static_cast<int>(ranks.size())) return format("node step %zu of rank %d has local root %d", k, rank, a.root);
        if (a.node == NodeStep::kWhole && shape.node_count() > 1) return "a node cannot do the whole of a collective of several";
      }
    }
  }
  return "";
}

Instance Plan::instance(uint32_t number) const {
  const auto next = std::upper_bound(first_.begin(), first_.end(), number);
  const auto rank = static_cast<int>(next - first_.begin()) - 1;
  const uint32_t offset = number - first_[static_cast<size_t>(rank)], steps = static_cast<uint32_t>(of(rank).steps.size());
  return {rank, offset / steps, offset % steps};
}

uint32_t Plan::node_index(int rank, uint32_t step) const {
  const auto& steps = node_steps(rank);
  return static_cast<uint32_t>(std::find(steps.begin(), steps.end(), step) - steps.begin());
}

size_t Plan::elements(const Slice& slice, uint32_t segment) const {
  size_t sum = 0;
  for (uint32_t share = 0; share < slice.shares; ++share) sum += cells_[segment * of(0).parts + slice.share + share];
  return slice.blocks * sum;
}

uint64_t Plan::user_memory(int rank, Buffer buffer, uint32_t block, uint32_t cell) const {
  if (trial.in_place && buffer == Buffer::kSend) {
    if (const int other = in_place_block(of(rank).collective, rank, block); other >= 0) {
      buffer = Buffer::kReceive;
      block = static_cast<uint32_t>(other);
    }
  }
  return static_cast<uint64_t>(buffer) << 60 | static_cast<uint64_t>(block) << 30 | cell;
}

std::vector<Location> Plan::locations(int rank, const Slice& slice, uint32_t segment) const {
  std::vector<Location> all;
  for (uint32_t block = slice.block; block < slice.block + slice.blocks; ++block) {
    for (uint32_t share = 0; share < slice.shares; ++share) {
      const uint32_t cell = segment * of(rank).parts + slice.share + share;
      // Scratch is the segment's own: of a window, segment s uses part s % window.
      const uint64_t memory = slice.buffer == Buffer::kScratch ? uint64_t{2} << 60 | static_cast<uint64_t>(segment % trial.window) << 50 |
                                                                     static_cast<uint64_t>(block) << 30 | share
                                                               : user_memory(rank, slice.buffer, block, cell);
      all.push_back({memory, cell, cells_[cell]});
    }
  }
  return all;
}

bool Plan::is_idle(int rank, const ScheduleStep& step) const {
  if (step.kind != StepKind::kCopy) return false;
  const auto from = locations(rank, step.inputs[0], 0), to = locations(rank, step.target, 0);
  return std::equal(from.begin(), from.end(), to.begin(), to.end(), [](const Location& a, const Location& b) { return a.memory == b.memory; });
}

std::string name_of(const Plan& plan, const Instance& instance) {
  static constexpr const char* kinds[] = {"send", "recv", "copy", "reduce", "node step"};
  const std::string text = format("rank %d, step %u (%s)", instance.rank, instance.step, kinds[static_cast<int>(plan.step(instance).kind)]);
  return plan.trial.segments > 1 ? text + format(" of segment %u", instance.segment) : text;
}

bool carries_data(const ScheduleStep& step, int from_local, int to_local) {
  switch (step.node) {
    case NodeStep::kBroadcast:
    case NodeStep::kScatter: return from_local == step.root;
    case NodeStep::kReduce:
    case NodeStep::kGather: return to_local == step.root;
    default: return true;
  }
}

}  // namespace smddp::coll
