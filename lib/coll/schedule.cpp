#include "coll/schedule.hpp"

#include "base/error.hpp"
#include "base/shares.hpp"

#include <algorithm>

namespace smddp::coll {

size_t slot_elements(const Schedule& schedule, size_t length) {
  // The first shares are the longest.
  return shares_of(length, static_cast<int>(schedule.parts), 0, static_cast<int>(schedule.slot_shares)).length;
}

uint32_t node_lag(const Schedule& schedule, uint32_t window) {
  const auto node_steps = static_cast<uint32_t>(
      std::count_if(schedule.steps.begin(), schedule.steps.end(), [](const ScheduleStep& step) { return step.kind == StepKind::kNode; }));
  // The last node step of segment s comes before the first one of segment s + window, which waits for the whole of s.
  return node_steps > 1 ? (window - 1) / (node_steps - 1) : 0;
}

int in_place_block(Collective collective, int rank, uint32_t send_block) {
  switch (collective) {
    case Collective::kAllreduce:
    case Collective::kReduce: return 0;
    case Collective::kAllgather:
    case Collective::kGather: return rank;
    case Collective::kReduceScatter:
    case Collective::kScatter: return send_block == static_cast<uint32_t>(rank) ? 0 : -1;
    default: return -1;
  }
}

namespace {

std::string problem_of(const Schedule& schedule, const Slice& slice) {
  if (slice.blocks == 0) return "";
  if (slice.shares == 0) return "a slice without shares";
  if (slice.share + slice.shares > schedule.parts) return format("shares %u to %u of %u", slice.share, slice.share + slice.shares - 1, schedule.parts);
  if (slice.blocks > 1 && schedule.segmented) return format("%u blocks in a slice of a segment", slice.blocks);
  if (slice.blocks > 1 && slice.shares != schedule.parts) return format("parts of %u blocks", slice.blocks);
  if (slice.buffer != Buffer::kScratch) return "";
  if (slice.block + slice.blocks > schedule.scratch_slots) return format("slot %u of %u", slice.block + slice.blocks - 1, schedule.scratch_slots);
  if (slice.shares > schedule.slot_shares) return format("%u shares in a slot for %u", slice.shares, schedule.slot_shares);
  return "";
}

std::string problem_of(const Schedule& schedule, const ScheduleStep& step, size_t index) {
  if ((step.kind == StepKind::kNode) != (step.node != NodeStep::kNone)) return "node step without its kind";
  if (step.node == NodeStep::kWhole && schedule.steps.size() != 1) return "a whole collective among other steps";
  const bool message = step.kind == StepKind::kSend || step.kind == StepKind::kRecv;
  if (message && (step.peer < 0 || step.peer >= schedule.size + schedule.servers || step.peer == schedule.rank)) return format("bad peer %d", step.peer);
  if (step.kind == StepKind::kReduce ? step.inputs.empty() : step.inputs.size() != (step.kind == StepKind::kRecv ? 0 : 1)) {
    return format("%zu inputs", step.inputs.size());
  }
  if (step.kind == StepKind::kSend && step.target.blocks) return "a send with a target";
  for (const Slice& input : step.inputs) {
    if (const std::string problem = problem_of(schedule, input); !problem.empty()) return problem;
  }
  if (const std::string problem = problem_of(schedule, step.target); !problem.empty()) return problem;
  if (step.target.blocks && step.target.buffer == Buffer::kSend) return "writes the send buffer";
  if (step.kind == StepKind::kCopy || step.kind == StepKind::kReduce) {
    for (const Slice& input : step.inputs) {
      if (input.share != step.target.share || input.shares != step.target.shares || input.blocks != step.target.blocks) {
        return "input and target are different shares";
      }
    }
  }
  for (const Dependency& d : step.after) {
    if (d.step >= schedule.steps.size() || (d.segments_back == 0 && d.step >= index)) return format("depends on step %u", d.step);
  }
  return "";
}

}  // namespace

std::string check(const Schedule& schedule) {
  if (schedule.parts == 0 || schedule.lanes == 0 || schedule.parts % schedule.lanes) {
    return format("%u parts in %u lanes", schedule.parts, schedule.lanes);
  }
  if (schedule.slot_shares == 0 || schedule.slot_shares > schedule.parts) return format("slots for %u of %u shares", schedule.slot_shares, schedule.parts);
  for (size_t i = 0; i < schedule.steps.size(); ++i) {
    const std::string problem = problem_of(schedule, schedule.steps[i], i);
    if (!problem.empty()) return format("rank %d, step %zu: ", schedule.rank, i) + problem;
  }
  return "";
}

}  // namespace smddp::coll
