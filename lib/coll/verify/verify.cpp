#include "coll/verify/verify.hpp"

#include "coll/verify/order.hpp"
#include "coll/verify/replay.hpp"

namespace smddp::coll {

Verdict verify(const std::vector<Schedule>& ranks, const Shape& shape, const Trial& trial) {
  Verdict verdict;
  Plan plan(ranks, shape, trial);
  Order order;
  verdict.problem = plan.make();
  if (verdict.problem.empty()) verdict.problem = find_race(plan);
  if (verdict.problem.empty()) verdict.problem = find_order(plan, order);
  if (verdict.problem.empty()) verdict.problem = replay(plan, order);
  verdict.traffic = order.traffic;
  return verdict;
}

}  // namespace smddp::coll
