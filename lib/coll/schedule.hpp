// A schedule: what one rank does in one collective, as plain data. It is the pattern for ONE segment; the executor runs segments
// 0 … n − 1 with a window, and a dependency names a step of the same or of an earlier segment. Nothing here knows memory, time or
// addresses: places in buffers are shares of a segment, evaluated against counts when an operation starts.
#pragma once

#include "base/types.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace smddp::coll {

enum class StepKind : uint8_t {
  kSend,    // a share of a buffer to peer
  kRecv,    // from peer into a buffer
  kCopy,    // between buffers of this rank
  kReduce,  // inputs buffers into one, in the order of the inputs
  kNode,    // opaque, by all ranks of this node together: see NodeStep
};

// What the ranks of a node do together on one segment. contributors of the result: all ranks of the node.
enum class NodeStep : uint8_t {
  kNone,
  kWhole,         // the entire collective (all ranks are on this node)
  kReduceShares,  // each rank gets the reduction of its share of the segment
  kGatherShares,  // each rank gets all shares
};

enum class Buffer : uint8_t { kSend, kReceive, kScratch };

// Share `index` of `parts` equal shares of the segment (coll/shape.hpp cuts them); parts 1 is the whole segment.
struct Slice {
  Buffer buffer = Buffer::kReceive;
  uint16_t index = 0, parts = 1;
};

struct Dependency {
  uint16_t step;
  uint16_t segments_back;  // 0: of the same segment
};

struct ScheduleStep {
  StepKind kind = StepKind::kNode;
  NodeStep node = NodeStep::kNone;
  int peer = -1;  // of kSend and kRecv: rank in the communicator
  Slice source, target;
  std::vector<Dependency> after;
};

struct Schedule {
  Collective collective = Collective::kNone;
  const char* algorithm = "";
  int rank = 0, size = 1;
  bool segmented = false;  // whether the vector may be cut into segments
  std::vector<ScheduleStep> steps;
};

// The schedule for people, one step a line.
std::string print(const Schedule& schedule);

// Empty if dependencies point to earlier steps or segments and NODE steps stand where every rank has them; else what is wrong.
std::string check(const Schedule& schedule);

}  // namespace smddp::coll
