#include "coll/allreduce/hierarchical.hpp"

namespace smddp::coll {

Schedule hierarchical_allreduce(int rank, int size) {
  Schedule schedule;
  schedule.collective = Collective::kAllreduce;
  schedule.algorithm = "hierarchical";
  schedule.rank = rank;
  schedule.size = size;
  schedule.segmented = true;

  const Slice share{Buffer::kReceive, static_cast<uint16_t>(rank), static_cast<uint16_t>(size)};
  ScheduleStep reduce;
  reduce.node = NodeStep::kReduceShares;
  reduce.source.buffer = Buffer::kSend;
  reduce.target = share;
  schedule.steps.push_back(reduce);

  ScheduleStep gather;
  gather.node = NodeStep::kGatherShares;
  gather.source = share;
  gather.after = {{0, 0}};
  schedule.steps.push_back(gather);
  return schedule;
}

}  // namespace smddp::coll
