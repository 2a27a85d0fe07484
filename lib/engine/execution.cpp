#include "engine/execution.hpp"

#include "base/error.hpp"
#include "node/shape.hpp"
#include "reduce/reduce.hpp"

#include <algorithm>
#include <cstring>

namespace smddp::engine {
namespace {

using coll::StepKind;

bool on_wire(const coll::ScheduleStep& step) { return step.kind == StepKind::kSend || step.kind == StepKind::kRecv; }

uint32_t mix(uint32_t history, uint32_t value) {
  const uint64_t x = (static_cast<uint64_t>(history) << 32 | value) * 0x9e3779b97f4a7c15u;
  return static_cast<uint32_t>(x >> 32) ^ static_cast<uint32_t>(x);
}

// What a communicator has done so far, this call and how it is run included.
uint32_t history_with(uint32_t history, const coll::Schedule& schedule, const node::Call& call, size_t segment_elements) {
  uint32_t algorithm = 0;
  for (const char* c = schedule.algorithm; *c; ++c) algorithm = algorithm * 31 + static_cast<unsigned char>(*c);
  return mix(mix(history, node::signature(call)), algorithm ^ static_cast<uint32_t>(segment_elements));
}

}  // namespace

Execution::Execution(const coll::Schedule& schedule, const node::Call& call, Route& route, size_t segment_elements)
    : schedule_(schedule),
      call_(call),
      route_(route),
      sequence_(++route.sequence),
      note_(route.history = history_with(route.history, schedule, call, segment_elements)),
      element_(dtype_bytes(call.dtype)),
      segment_elements_(schedule.segmented && segment_elements ? std::min(segment_elements, std::max<size_t>(call.count, 1))
                                                               : std::max<size_t>(call.count, 1)),
      segments_(static_cast<uint32_t>(std::max<size_t>(1, (call.count + segment_elements_ - 1) / segment_elements_))),
      events_seen_(~0u),
      node_lag_(coll::node_lag(schedule, kWindow)) {
  route_.ring.begin(note_, call, schedule.algorithm, segment_elements_);
  for (size_t i = 0; i < schedule_.steps.size(); ++i) {
    if (schedule_.steps[i].kind == StepKind::kNode) node_steps_.push_back(i);
  }
  const size_t bytes = call_.count * element_ * static_cast<size_t>(route_.ranks());
  if (call_.collective == Collective::kAlltoall && call_.sendbuf == call_.recvbuf && bytes) {
    aside_.reset(new unsigned char[bytes]);
    std::memcpy(aside_.get(), call_.sendbuf, bytes);
    call_.sendbuf = aside_.get();
  }
  if (schedule_.scratch_slots) {
    const size_t window = std::min(segments_, kWindow);
    scratch_.reset(new unsigned char[window * schedule_.scratch_slots * coll::slot_elements(schedule_, segment_elements_) * element_]);
  }
  while (opened_ < segments_ && opened_ < kWindow) open_segment();
}

void Execution::open_segment() {
  Progress& p = progress(opened_++);
  p.states.assign(schedule_.steps.size(), State::kWaiting);
  p.events.clear();
  p.events.resize(schedule_.steps.size());
  p.left = static_cast<uint32_t>(schedule_.steps.size());
}

// Where a slice of a segment lies, and how long each of its blocks is.
Execution::Place Execution::place(const coll::Slice& slice, uint32_t segment) const {
  if (slice.blocks == 0) return {};
  const Range part = segment_of(call_.count, segment, segment_elements_);
  const Range shares = shares_of(part.length, static_cast<int>(schedule_.parts), static_cast<int>(slice.share), static_cast<int>(slice.shares));
  Place place;
  place.elements = shares.length;
  place.blocks = slice.blocks;
  if (slice.buffer == coll::Buffer::kScratch) {
    place.stride = coll::slot_elements(schedule_, segment_elements_);
    place.memory = scratch_.get() + ((segment % kWindow) * schedule_.scratch_slots + slice.block) * place.stride * element_;
  } else {
    place.stride = call_.count;
    unsigned char* base = slice.buffer == coll::Buffer::kSend ? static_cast<unsigned char*>(const_cast<void*>(call_.sendbuf))
                                                              : static_cast<unsigned char*>(call_.recvbuf);
    place.memory = base + (slice.block * call_.count + part.begin + shares.begin) * element_;
  }
  return place;
}

bool Execution::is_ready(uint32_t segment, size_t step) const {
  for (const coll::Dependency& d : schedule_.steps[step].after) {
    if (d.segments_back > segment) continue;
    const uint32_t other = segment - d.segments_back;
    if (other >= first_ && window_[other % kWindow].states[d.step] != State::kDone) return false;
  }
  return true;
}

void Execution::finish(uint32_t segment, size_t step) {
  Progress& p = progress(segment);
  p.states[step] = State::kDone;
  --p.left;
}

// Starts a step that is ready; false if the transport is full.
bool Execution::issue(uint32_t segment, size_t step_number) {
  const coll::ScheduleStep& step = schedule_.steps[step_number];
  Progress& p = progress(segment);
  switch (step.kind) {
    case StepKind::kSend: {
      const Place from = place(step.inputs[0], segment);
      if (from.blocks && !from.elements) break;  // nobody waits for it
      const uint64_t id = route_.id(step.peer, sequence_, step.tag, segment);
      p.events[step_number].note = note_;
      if (!route_.wire.transport().send(world_rank(step.peer), id, from.memory, from.bytes(element_), &p.events[step_number])) return false;
      p.states[step_number] = State::kRunning;
      return true;
    }
    case StepKind::kRecv: {
      const Place to = place(step.target, segment);
      if (to.blocks && !to.elements) break;
      const uint64_t id = route_.id(route_.rank, sequence_, step.tag, segment);
      p.events[step_number].note = note_;
      if (!route_.wire.transport().receive(world_rank(step.peer), id, to.memory, to.bytes(element_), &p.events[step_number])) return false;
      p.states[step_number] = State::kRunning;
      return true;
    }
    case StepKind::kCopy: {
      const Place from = place(step.inputs[0], segment), to = place(step.target, segment);
      for (size_t block = 0; block < from.blocks; ++block) {
        unsigned char* source = from.memory + block * from.stride * element_;
        unsigned char* target = to.memory + block * to.stride * element_;
        if (source != target && from.elements) reduce::copy(target, source, from.elements * element_, false);
      }
      break;
    }
    case StepKind::kReduce: {
      const Place to = place(step.target, segment);
      std::vector<const void*> sources;
      for (const coll::Slice& input : step.inputs) sources.push_back(place(input, segment).memory);
      reduce::Arguments arguments;
      arguments.destinations[0] = to.memory;
      arguments.sources = sources.data();
      arguments.source_count = static_cast<int>(sources.size());
      arguments.count = to.total();
      arguments.divisor = call_.divisor;
      arguments.finish = step.finish;
      reduce::kernel(call_.dtype, call_.op)(arguments);
      break;
    }
    case StepKind::kNode: return true;  // run_node takes them in turn
  }
  finish(segment, step_number);
  return true;
}

std::string Execution::where(const node::Board& board) const {
  return format(" during %s #%u on comm '%s', %s", node::call_text(call_).c_str(), sequence_, board.name.c_str(), route_.name(route_.rank).c_str());
}

// Looks after a send or receive that is under way; false if it failed.
bool Execution::check(uint32_t segment, size_t step_number, const node::Board& board, Status& status) {
  const coll::ScheduleStep& step = schedule_.steps[step_number];
  const transport::Event& event = progress(segment).events[step_number];
  const size_t expected = place(step.kind == StepKind::kSend ? step.inputs[0] : step.target, segment).bytes(element_);
  if (event.result == transport::Result::kOk && event.bytes == expected) {
    if (step.kind == StepKind::kSend) route_.traffic.count_sent(event.bytes);
    else route_.traffic.count_received(event.bytes);
    finish(segment, step_number);
    return true;
  }
  if (event.result == transport::Result::kMismatch) {
    disputed_ = true;
    return true;
  }
  if (event.result == transport::Result::kOk || event.result == transport::Result::kTruncated) {
    status = {SMDDP_ERR_MISMATCH, format("mismatch: %s sent %zu bytes where %s expected %zu", route_.name(step.peer).c_str(), event.bytes,
                                         route_.name(route_.rank).c_str(), expected) + where(board)};
  } else if (event.result == transport::Result::kPeerFailed) {
    status = {SMDDP_ERR_PEER_GONE, event.sentence + where(board)};
  } else {
    status = {SMDDP_ERR_ABORTED, event.sentence + where(board)};
  }
  return false;
}

// The next node step in the order that all ranks of the node keep (coll/schedule.hpp).
bool Execution::find_node_step() {
  const uint64_t ordinals = node_steps_.size();
  const uint64_t lag = node_lag_;
  const uint64_t turns = (segments_ + lag * (ordinals - 1)) * ordinals;
  for (; node_turn_ < turns; ++node_turn_) {
    const uint64_t round = node_turn_ / ordinals, ordinal = ordinals - 1 - node_turn_ % ordinals;
    if (round < lag * ordinal || round - lag * ordinal >= segments_) continue;
    node_segment_ = static_cast<uint32_t>(round - lag * ordinal);
    node_step_ = node_steps_[ordinal];
    return true;
  }
  return false;
}

node::Call Execution::node_call(uint32_t segment, const coll::ScheduleStep& step, const node::Board& board) const {
  const Place from = place(step.inputs.empty() ? coll::kNothing : step.inputs[0], segment), to = place(step.target, segment);
  node::Call call = call_;
  call.whole = &call_;
  call.history = note_;
  call.number = sequence_;
  call.root = step.root;
  call.finish = step.finish;
  call.sendbuf = from.memory;
  call.recvbuf = to.memory;
  call.count = from.blocks ? from.total() : to.total();
  const size_t length = segment_of(call_.count, segment, segment_elements_).length;
  const auto lane = [&] {
    call.parts = static_cast<int>(schedule_.parts);
    call.lanes = static_cast<int>(schedule_.lanes);
    call.count = length;
    return node::share_of(call, board.size(), board.rank()).begin * element_;
  };
  switch (step.node) {
    case coll::NodeStep::kReduceShares:
      call.collective = Collective::kReduceShares;
      if (const size_t skip = lane(); to.blocks) call.recvbuf = to.memory - skip;  // the board puts the share where it lies in the vector
      break;
    case coll::NodeStep::kGatherShares:
      call.collective = Collective::kGatherShares;
      (void)lane();
      call.sendbuf = call.recvbuf;  // where the lane lies already
      break;
    case coll::NodeStep::kBroadcast:
      call.collective = Collective::kBroadcast;
      if (board.rank() == step.root) call.recvbuf = from.memory;
      break;
    case coll::NodeStep::kReduce: call.collective = Collective::kReduce; break;
    case coll::NodeStep::kGather: call.collective = Collective::kGather; break;
    case coll::NodeStep::kScatter:
      call.collective = Collective::kScatter;
      call.count = to.total();
      break;
    case coll::NodeStep::kAlltoall:
      call.collective = Collective::kAlltoall;
      call.count = from.elements;
      break;
    default: call.collective = Collective::kBarrier; call.count = 0; break;
  }
  return call;
}

node::Step Execution::run_node(node::Board& board, Status& status) {
  bool moved = false;
  for (;;) {
    if (!node_running_) {
      if (node_steps_.empty() || !find_node_step() || node_segment_ < first_ || node_segment_ >= opened_) break;
      if (!is_ready(node_segment_, node_step_)) break;
      operation_ = {};
      operation_.call = node_call(node_segment_, schedule_.steps[node_step_], board);
      node_running_ = true;
    }
    const node::Step step = board.step(operation_);
    if (step == node::Step::kFailed) {
      status = operation_.status;
      return node::Step::kFailed;
    }
    if (step == node::Step::kAgain) break;
    moved = true;
    if (step != node::Step::kDone) continue;
    node_running_ = false;
    ++node_turn_;
    finish(node_segment_, node_step_);
  }
  return moved ? node::Step::kMoved : node::Step::kAgain;
}

node::Step Execution::advance(node::Board& board, Status& status) {
  if (board.failed()) {
    status = board.failure(nullptr);
    return node::Step::kFailed;
  }
  bool moved = false;
  for (bool again = !disputed_; again;) {
    again = false;
    for (uint32_t segment = first_; segment < opened_; ++segment) {
      Progress& p = progress(segment);
      for (size_t i = 0; i < schedule_.steps.size() && p.left; ++i) {
        if (p.states[i] == State::kDone || schedule_.steps[i].kind == StepKind::kNode) continue;
        if (p.states[i] == State::kWaiting) {
          if (!is_ready(segment, i) || !issue(segment, i)) continue;
          again = true;
        }
        if (p.states[i] != State::kRunning || !p.events[i].done()) continue;
        if (!check(segment, i, board, status)) return node::Step::kFailed;
        if (disputed_) return node::Step::kAgain;
        again = true;
      }
    }
    const node::Step node = run_node(board, status);
    if (node == node::Step::kFailed) return node;
    again |= node == node::Step::kMoved;
    while (first_ < opened_ && progress(first_).left == 0) {
      ++first_;
      if (opened_ < segments_) open_segment();
      again = true;
    }
    moved |= again;
  }
  if (first_ == segments_) {
    route_.ring.end();
    return node::Step::kDone;
  }
  const std::string why = hopeless(board);
  if (!why.empty()) {
    status = {SMDDP_ERR_PEER_GONE, why + where(board)};
    return node::Step::kFailed;
  }
  return moved ? node::Step::kMoved : node::Step::kAgain;
}

// Why this cannot end: a member has died, whomever this rank waits for; or one that has finalized owes it a message.
std::string Execution::hopeless(const node::Board& board) {
  const node::Group& group = board.group();
  const uint32_t events = group.events();
  if (events == events_seen_ && route_.wire.all_there()) return "";
  events_seen_ = events;
  for (size_t peer = 0; peer < route_.world_ranks.size(); ++peer) {
    const int near = route_.board_ranks[peer];
    if (near >= 0) {
      const int local = board.members()[static_cast<size_t>(near)];
      if (group.state(local) == node::RankState::kDead) return group.departed({local});
    } else if (!route_.wire.all_there() && route_.wire.is_dead(route_.world_ranks[peer])) {
      return route_.wire.departed(route_.world_ranks[peer]);
    }
  }
  for (uint32_t segment = first_; segment < opened_ && !route_.wire.all_there(); ++segment) {
    const Progress& p = progress(segment);
    for (size_t i = 0; i < schedule_.steps.size(); ++i) {
      if (p.states[i] != State::kRunning || !on_wire(schedule_.steps[i])) continue;
      const std::string why = route_.wire.departed(world_rank(schedule_.steps[i].peer));
      if (!why.empty()) return why;
    }
  }
  return "";
}

bool Execution::drain() {
  bool pending = false;
  for (uint32_t segment = first_; segment < opened_; ++segment) {
    Progress& p = progress(segment);
    for (size_t i = 0; i < p.states.size(); ++i) {
      if (p.states[i] != State::kRunning || !on_wire(schedule_.steps[i]) || p.events[i].done()) continue;
      if (!taken_back_) route_.wire.transport().cancel(p.events[i], "the collective failed");  // once: its patience begins with the call
      pending |= !p.events[i].done();
    }
  }
  taken_back_ = true;
  return !pending;
}

std::string Execution::missing() const {
  const std::string mute = peers_of(StepKind::kRecv), deaf = mute.empty() ? peers_of(StepKind::kSend) : "";
  return !mute.empty() ? "nothing has come from " + mute : deaf.empty() ? "" : deaf + " takes nothing";
}

// Those that messages are under way with.
std::string Execution::peers_of(StepKind kind) const {
  std::vector<int> peers;
  for (uint32_t segment = first_; segment < opened_; ++segment) {
    const Progress& p = window_[segment % kWindow];
    for (size_t i = 0; i < p.states.size(); ++i) {
      if (p.states[i] == State::kRunning && schedule_.steps[i].kind == kind) peers.push_back(schedule_.steps[i].peer);
    }
  }
  std::sort(peers.begin(), peers.end());
  peers.erase(std::unique(peers.begin(), peers.end()), peers.end());
  std::string text;
  for (size_t i = 0; i < peers.size() && i < 8; ++i) text += (i ? ", " : "") + route_.name(peers[i]);
  if (peers.size() > 8) text += format(" and %zu more", peers.size() - 8);
  return text;
}

}  // namespace smddp::engine
