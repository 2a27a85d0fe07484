#include "coll/schedule.hpp"

#include "base/error.hpp"

namespace smddp::coll {
namespace {

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
    case NodeStep::kNone: break;
  }
  return "none";
}

const char* buffer_name(Buffer buffer) {
  return buffer == Buffer::kSend ? "send" : buffer == Buffer::kReceive ? "receive" : "scratch";
}

}  // namespace

std::string print(const Schedule& schedule) {
  std::string text = format("%s, algorithm %s, rank %d of %d%s\n", collective_name(schedule.collective), schedule.algorithm, schedule.rank,
                            schedule.size, schedule.segmented ? ", per segment" : "");
  for (size_t i = 0; i < schedule.steps.size(); ++i) {
    const ScheduleStep& step = schedule.steps[i];
    text += format("%3zu %s", i, kind_name(step));
    if (step.peer >= 0) text += format(" %s %d", step.kind == StepKind::kSend ? "to" : "from", step.peer);
    text += format(", %s %u/%u to %s %u/%u", buffer_name(step.source.buffer), step.source.index, step.source.parts,
                   buffer_name(step.target.buffer), step.target.index, step.target.parts);
    for (const Dependency& d : step.after) text += format(", after %u%s", d.step, d.segments_back ? " of an earlier segment" : "");
    text += '\n';
  }
  return text;
}

std::string check(const Schedule& schedule) {
  for (size_t i = 0; i < schedule.steps.size(); ++i) {
    const ScheduleStep& step = schedule.steps[i];
    if ((step.kind == StepKind::kNode) != (step.node != NodeStep::kNone)) return format("step %zu: node step without its kind", i);
    if (step.node == NodeStep::kWhole && schedule.steps.size() != 1) return format("step %zu: a whole collective among other steps", i);
    const bool wire = step.kind == StepKind::kSend || step.kind == StepKind::kRecv;
    if (wire && (step.peer < 0 || step.peer >= schedule.size || step.peer == schedule.rank)) return format("step %zu: bad peer %d", i, step.peer);
    for (const Slice& slice : {step.source, step.target}) {
      if (slice.parts == 0 || slice.index >= slice.parts) return format("step %zu: share %u of %u", i, slice.index, slice.parts);
    }
    for (const Dependency& d : step.after) {
      if (d.step >= schedule.steps.size() || (d.segments_back == 0 && d.step >= i)) return format("step %zu: depends on step %u", i, d.step);
    }
  }
  return "";
}

}  // namespace smddp::coll
