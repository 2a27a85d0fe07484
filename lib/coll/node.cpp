#include "coll/node.hpp"

namespace smddp::coll {

Schedule node_schedule(Collective collective, int rank, int size) {
  Schedule schedule;
  schedule.collective = collective;
  schedule.algorithm = "node";
  schedule.rank = rank;
  schedule.size = size;
  ScheduleStep step;
  step.node = NodeStep::kWhole;
  step.source.buffer = Buffer::kSend;
  schedule.steps.push_back(step);
  return schedule;
}

}  // namespace smddp::coll
