// Which algorithms the user wants, by collective: the text of SMDDP_ALGORITHM.
#pragma once

#include "coll/algorithms.hpp"

#include <array>

namespace smddp::coll {

constexpr size_t kCollectives = static_cast<size_t>(Collective::kBarrier) + 1;

// By Collective; NULL: the model chooses. An algorithm that does not fit a communicator's shape counts there as not given.
using Overrides = std::array<const Algorithm*, kCollectives>;

// "allreduce:ring,broadcast:binomial"; a name without a collective stands for every collective that has it, and later ones replace
// earlier ones. Throws INVALID_ARGUMENT, naming what there is.
Overrides parse_overrides(const std::string& text);

}  // namespace smddp::coll
