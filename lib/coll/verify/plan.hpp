// All schedules of a communicator side by side: matched messages, node steps that belong together, elements as cells. A cell is one share
// of one segment of a block: all slices consist of whole cells.
#pragma once

#include "coll/verify/verify.hpp"

#include <cstdint>

namespace smddp::coll {

// A step of a rank for one segment, and the number of each.
struct Instance {
  int rank;
  uint32_t segment, step;
};

// A cell in the memory of a rank.
struct Location {
  uint64_t memory;  // which cell of which buffer
  uint32_t cell;    // segment × parts + share: which elements of a block fit there
  size_t length;
};

class Plan {
 public:
  Plan(const std::vector<Schedule>& schedules, const Shape& shape, const Trial& trial) : schedules(schedules), shape(shape), trial(trial) {}

  // Empty, or what does not fit together.
  std::string make();

  const std::vector<Schedule>& schedules;
  const Shape& shape;
  const Trial& trial;

  int size() const { return shape.size(); }
  int members() const { return static_cast<int>(schedules.size()); }  // ranks and, behind them, servers
  const Schedule& of(int rank) const { return schedules[static_cast<size_t>(rank)]; }
  const ScheduleStep& step(const Instance& i) const { return of(i.rank).steps[i.step]; }

  uint32_t instances() const { return first_.back(); }
  uint32_t number(int rank, uint32_t segment, uint32_t step) const {
    return first_[static_cast<size_t>(rank)] + segment * static_cast<uint32_t>(of(rank).steps.size()) + step;
  }
  Instance instance(uint32_t number) const;
  uint32_t first_of(int rank) const { return first_[static_cast<size_t>(rank)]; }

  // The step at the other side of a message.
  uint32_t partner(int rank, uint32_t step) const { return partners_[static_cast<size_t>(rank)][step]; }
  // Steps of a rank that are node steps, in order; and which of them a step is.
  const std::vector<uint32_t>& node_steps(int rank) const { return node_steps_[static_cast<size_t>(rank)]; }
  uint32_t node_index(int rank, uint32_t step) const;

  size_t cell_length(uint32_t cell) const { return cells_[cell]; }
  uint32_t cell_count() const { return static_cast<uint32_t>(cells_.size()); }
  size_t elements(const Slice& slice, uint32_t segment) const;
  std::vector<Location> locations(int rank, const Slice& slice, uint32_t segment) const;
  uint64_t user_memory(int rank, Buffer buffer, uint32_t block, uint32_t cell) const;

  // A copy onto itself, where the collective is called in place.
  bool is_idle(int rank, const ScheduleStep& step) const;

  // Blocks that a buffer has on a rank; 0: the caller may pass NULL. A server has none.
  uint32_t blocks_of(int rank, Buffer buffer) const;

 private:
  std::string check_alike() const;
  std::string check_buffers(int rank) const;
  std::string match_messages();
  std::string match_node_steps();
  void cut();

  std::vector<uint32_t> first_;
  std::vector<std::vector<uint32_t>> partners_, node_steps_;
  std::vector<size_t> cells_;
};

// "rank 2, step 5 (recv)" with the segment where there are several.
std::string name_of(const Plan& plan, const Instance& instance);

// Whether the step of one local rank brings data to that of another.
bool carries_data(const ScheduleStep& step, int from_local, int to_local);

}  // namespace smddp::coll
