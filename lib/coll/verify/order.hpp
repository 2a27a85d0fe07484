// In which order the steps of a plan may run. Two views: what a rank itself ensures (dependencies, window, order of node steps), which
// alone keeps two steps from touching memory at the same time; and, with messages and node steps, who waits for whom.
#pragma once

#include "coll/verify/plan.hpp"

namespace smddp::coll {

// Empty, or two steps of one rank that touch the same memory and that nothing orders.
std::string find_race(const Plan& plan);

// A vertex of the graph: instance i begins (2 i) and ends (2 i + 1).
struct Order {
  std::vector<uint32_t> vertices;  // each after all that it waits for
  Traffic traffic;
  std::vector<uint64_t> heard;  // by rank: the ranks whose entry this rank knows of when it leaves
};

// Empty and an order, or what waits in a circle.
std::string find_order(const Plan& plan, Order& order);

}  // namespace smddp::coll
