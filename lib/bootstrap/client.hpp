// The side of ranks other than 0 when ranks meet. Invariant: it looks for rank 0 until the deadline, and what is not rank 0 of this job
// costs it at most some seconds.
#pragma once

#include "bootstrap/bootstrap.hpp"
#include "bootstrap/frame.hpp"

namespace smddp::bootstrap {

Meeting join(const Placement& placement, Hello hello, int64_t deadline);

}  // namespace smddp::bootstrap
