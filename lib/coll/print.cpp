// Schedules as text for people.
#include "coll/schedule.hpp"

#include "base/error.hpp"

namespace smddp::coll {

const char* kind_name(const ScheduleStep& step) {
  switch (step.kind) {
    case StepKind::kSend: return "send";
    case StepKind::kRecv: return "recv";
    case StepKind::kCopy: return "copy";
    case StepKind::kReduce: return "reduce";
    case StepKind::kNode: break;
  }
  switch (step.node) {
    case NodeStep::kWhole: return "node whole";
    case NodeStep::kReduceShares: return "node reduce shares";
    case NodeStep::kGatherShares: return "node gather shares";
    case NodeStep::kBroadcast: return "node broadcast";
    case NodeStep::kReduce: return "node reduce";
    case NodeStep::kGather: return "node gather";
    case NodeStep::kScatter: return "node scatter";
    case NodeStep::kAlltoall: return "node alltoall";
    case NodeStep::kBarrier: return "node barrier";
    case NodeStep::kNone: break;
  }
  return "none";
}

namespace {

bool has_root(NodeStep node) {
  return node == NodeStep::kBroadcast || node == NodeStep::kReduce || node == NodeStep::kGather || node == NodeStep::kScatter;
}

std::string numbers(const char* word, uint32_t first, uint32_t count) {
  return count == 1 ? format(" %s %u", word, first) : format(" %ss %u-%u", word, first, first + count - 1);
}

std::string text_of(const Schedule& schedule, const Slice& slice) {
  if (slice.blocks == 0) return "nothing";
  std::string text = slice.buffer == Buffer::kSend ? "send" : slice.buffer == Buffer::kReceive ? "receive" : "scratch";
  const bool vector = schedule.collective == Collective::kAllreduce || schedule.collective == Collective::kReduce ||
                      schedule.collective == Collective::kBroadcast;
  if (slice.buffer == Buffer::kScratch) {
    text += numbers("slot", slice.block, slice.blocks);
  } else if (!vector) {
    text += numbers("block", slice.block, slice.blocks);
  }
  if (slice.shares != schedule.parts) text += numbers("share", slice.share, slice.shares);
  return text;
}

std::string peer_text(const Schedule& schedule, int peer) {
  return peer < schedule.size ? std::to_string(peer) : format("server %d", peer - schedule.size);
}

std::string text_of(const Schedule& schedule, const ScheduleStep& step) {
  std::string text = kind_name(step);
  if (step.node == NodeStep::kWhole) return text;
  if (step.kind == StepKind::kSend) text += " to " + peer_text(schedule, step.peer) + format(" tag %u:", step.tag);
  if (step.kind == StepKind::kRecv) text += " from " + peer_text(schedule, step.peer) + format(" tag %u:", step.tag);
  if (has_root(step.node)) text += format(" with local root %d", step.root);
  const char* separator = " ";
  for (const Slice& input : step.inputs) {
    text += separator + text_of(schedule, input);
    separator = " + ";
  }
  if (step.kind != StepKind::kSend) text += (step.kind == StepKind::kRecv ? " " : " to ") + text_of(schedule, step.target);
  if (step.finish) text += ", finished";
  return text;
}

}  // namespace

std::string print(const Schedule& schedule) {
  const bool serves = schedule.rank >= schedule.size;
  std::string text = format("%s, algorithm %s, ", collective_name(schedule.collective), schedule.algorithm) +
                     (serves ? format("server %d of %d for %d ranks", schedule.rank - schedule.size, schedule.servers, schedule.size)
                             : format("rank %d of %d", schedule.rank, schedule.size));
  if (schedule.parts > 1) text += format(", %u shares", schedule.parts);
  if (schedule.lanes > 1) text += format(", %u lanes", schedule.lanes);
  if (schedule.scratch_slots) {
    text += format(", scratch %u × %u share%s", schedule.scratch_slots, schedule.slot_shares, schedule.slot_shares == 1 ? "" : "s");
  }
  text += schedule.segmented ? ", for each segment\n" : "\n";
  for (size_t i = 0; i < schedule.steps.size(); ++i) {
    const ScheduleStep& step = schedule.steps[i];
    text += format("%4zu  ", i) + text_of(schedule, step);
    for (const Dependency& d : step.after) {
      text += format("%s%u", &d == &step.after[0] ? "  (after " : ", ", d.step);
      if (d.segments_back) text += format(" of %u segment%s back", d.segments_back, d.segments_back == 1 ? "" : "s");
    }
    text += step.after.empty() ? "\n" : ")\n";
  }
  return text;
}

}  // namespace smddp::coll
