// One collective of several nodes while it runs: a schedule, its arguments, and how far each step of each segment is. Up to kWindow
// segments are under way. Node steps run in one static order, so that all ranks of a node enter them alike however the wire is timed.
#pragma once

#include "coll/schedule.hpp"
#include "engine/wire.hpp"
#include "node/board.hpp"

#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace smddp::engine {

class Execution {
 public:
  static constexpr uint32_t kWindow = 3;

  // segment_elements: of one segment; 0: the schedule is not cut.
  Execution(const Execution&) = delete;
  Execution(const coll::Schedule& schedule, const node::Call& call, Route& route, size_t segment_elements);

  // Moves what can be moved. Never blocks. kFailed: status says why; then drain() before buffers are the caller's again.
  node::Step advance(node::Board& board, Status& status);

  // Takes back what the transport still holds; true when that is nothing.
  bool drain();

  // "nothing has come from rank 3, rank 5" for the deadline, or "server 0 takes nothing".
  std::string missing() const;

  // Whether a message of another call has come. This one goes on waiting, until whoever asks all members breaks the communicator.
  bool disputed() const { return disputed_; }

  uint32_t sequence() const { return sequence_; }

 private:
  enum class State : uint8_t { kWaiting, kRunning, kDone };
  struct Progress {
    std::vector<State> states;
    std::deque<transport::Event> events;  // by step; of sends and receives
    uint32_t left = 0;                    // steps that are not done
  };
  struct Place {
    unsigned char* memory = nullptr;
    size_t elements = 0;  // of each block
    size_t blocks = 0, stride = 0;
    size_t total() const { return elements ? (blocks - 1) * stride + elements : 0; }
    size_t bytes(size_t element) const { return total() * element; }
  };

  Progress& progress(uint32_t segment) { return window_[segment % kWindow]; }
  void open_segment();
  bool is_ready(uint32_t segment, size_t step) const;
  bool issue(uint32_t segment, size_t step);
  bool check(uint32_t segment, size_t step, const node::Board& board, Status& status);
  node::Step run_node(node::Board& board, Status& status);
  bool find_node_step();
  node::Call node_call(uint32_t segment, const coll::ScheduleStep& step, const node::Board& board) const;
  Place place(const coll::Slice& slice, uint32_t segment) const;
  void finish(uint32_t segment, size_t step);
  std::string hopeless(const node::Board& board);
  std::string where(const node::Board& board) const;
  std::string peers_of(coll::StepKind kind) const;
  int world_rank(int peer) const { return route_.world_ranks[static_cast<size_t>(peer)]; }

  const coll::Schedule& schedule_;
  node::Call call_;
  std::unique_ptr<unsigned char[]> aside_;  // what an alltoall in place would overwrite before it is sent
  Route& route_;
  const uint32_t sequence_;
  const uint32_t note_;  // of its messages
  const size_t element_;
  size_t segment_elements_;
  uint32_t segments_;
  uint32_t first_ = 0, opened_ = 0;  // segments first_ … opened_ − 1 are under way
  Progress window_[kWindow];
  std::unique_ptr<unsigned char[]> scratch_;

  uint32_t events_seen_;                // of the node; at first none
  const uint64_t node_lag_;
  std::vector<size_t> node_steps_;  // of the schedule, in order
  uint64_t node_turn_ = 0;
  bool taken_back_ = false, disputed_ = false;
  bool node_running_ = false;
  uint32_t node_segment_ = 0;
  size_t node_step_ = 0;
  node::Operation operation_;
};

}  // namespace smddp::engine
