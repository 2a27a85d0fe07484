// A schedule: what one rank does in one collective, as plain data. It is the pattern for ONE segment; the executor runs segments
// 0 … n − 1, at most `window` of them at a time. Nothing here knows memory, time or addresses: places in buffers are blocks and shares,
// evaluated against counts when an operation starts.
#pragma once

#include "base/types.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace smddp::coll {

enum class StepKind : uint8_t {
  kSend,    // inputs[0] to peer
  kRecv,    // from peer into target
  kCopy,    // inputs[0] into target
  kReduce,  // the inputs, one or more, into target, in their order; target may be one of them
  kNode,    // by all ranks of this node together: see NodeStep
};

// What all ranks of a node do together on one segment. "Local" ranks are those of the node, in rank order; `root` is one of them.
enum class NodeStep : uint8_t {
  kNone,
  kWhole,         // the entire collective (all ranks are on this node)
  kReduceShares,  // local rank l < lanes gets in target the reduction over the node of lane l of the vector in inputs[0]
  kGatherShares,  // all get in target the lanes that the local ranks l < lanes have in inputs[0]
  kBroadcast,     // inputs[0] of root into target of the others
  kReduce,        // the reduction of all inputs[0] into target of root
  kGather,        // block of each local rank in inputs[0] into target of root, a block for each local rank
  kScatter,       // the other way round
  kAlltoall,      // block s in target = this rank's block in inputs[0] of local rank s
  kBarrier,       // nobody leaves before all have entered
};

enum class Buffer : uint8_t { kSend, kReceive, kScratch };

// Elements of one segment. A schedule cuts each block of the segment into `parts` shares (base/shares.hpp), all on the same boundaries;
// a slice is the range of shares `share` … `share + shares − 1` of block `block`, or of each of `blocks` adjacent ones.
// In send and receive buffers a block is the whole vector (allreduce, broadcast, reduce) or one of the blocks of count elements that
// the collective is made of. A scratch block is a slot with room for `slot_shares` shares: the shares lie from its start on.
// blocks 0: nothing. A message of nothing carries no data but is sent all the same; any other message without elements is not sent.
struct Slice {
  Buffer buffer = Buffer::kReceive;
  uint32_t block = 0, blocks = 1;
  uint32_t share = 0, shares = 1;
};

constexpr Slice kNothing{Buffer::kReceive, 0, 0, 0, 0};

struct Dependency {
  uint32_t step;
  uint32_t segments_back = 0;  // 0: of the same segment
};

struct ScheduleStep {
  StepKind kind = StepKind::kNode;
  NodeStep node = NodeStep::kNone;
  bool finish = false;  // of reductions: the target is complete; AVG divides here
  int peer = -1;        // of messages: rank in the communicator; server s is size + s
  uint32_t tag = 0;     // of messages: unique from sender to receiver within a segment, the same on both sides
  int root = 0;         // of node steps: a local rank
  std::vector<Slice> inputs;
  Slice target = kNothing;
  std::vector<Dependency> after;  // steps that must have ended before this one begins
};

// The same on all ranks: collective, algorithm, size, servers, root, segmented, parts, lanes.
struct Schedule {
  Collective collective = Collective::kNone;
  const char* algorithm = "";
  int rank = 0, size = 1, root = 0;  // rank size + s: of server s
  int servers = 0;            // that take part
  bool segmented = false;     // whether blocks may be cut into segments
  uint32_t parts = 1;         // shares of a block; lane l is shares l × parts / lanes … of the vector
  uint32_t lanes = 1;
  uint32_t scratch_slots = 0;  // for each segment under way
  uint32_t slot_shares = 1;
  std::vector<ScheduleStep> steps;
};

// Elements of a slot in scratch for a segment of `length` elements.
size_t slot_elements(const Schedule& schedule, size_t length);

// The executor starts segment s + window when all of segment s has ended on this rank. Node steps must be entered in one order by all
// ranks of a node, however the steps between them are timed: the k-th node step of the schedule for segment s at s + k × lag, and among
// equals in the order of k.
uint32_t node_lag(const Schedule& schedule, uint32_t window);

// The block of the other user buffer, receive for send, at the same place when a collective is called in place; −1: none.
int in_place_block(Collective collective, int rank, uint32_t send_block);

// "send", "node reduce shares".
const char* kind_name(const ScheduleStep& step);

// The schedule for people, one step a line.
std::string print(const Schedule& schedule);

// Empty if the schedule by itself is well formed: dependencies point to earlier steps or segments, slices lie in their buffers, node
// steps have what they need. Else what is wrong. Whether the ranks' schedules fit together: coll/verify.hpp.
std::string check(const Schedule& schedule);

}  // namespace smddp::coll
