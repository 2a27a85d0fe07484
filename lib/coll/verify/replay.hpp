// Runs a plan on symbols: every cell holds which elements it has, and from which ranks.
#pragma once

#include "coll/verify/order.hpp"

namespace smddp::coll {

// In one of the orders that are possible; without races all give the same. Empty, or what is wrong with a step or with a result.
std::string replay(const Plan& plan, const Order& order);

}  // namespace smddp::coll
