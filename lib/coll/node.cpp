#include "coll/node.hpp"

namespace smddp::coll {

Schedule node_schedule(Collective collective, const Position& position) {
  Builder builder(collective, "node", position);
  builder.node(NodeStep::kWhole, kNothing, kNothing, 0, true);
  return builder.schedule;
}

}  // namespace smddp::coll
