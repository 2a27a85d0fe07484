// One step: the node group does the whole collective. For communicators whose ranks are all on one node.
#pragma once

#include "coll/builder.hpp"

namespace smddp::coll {

Schedule node_schedule(Collective collective, const Position& position);

}  // namespace smddp::coll
