// Where nobody has said where rank 0 is, the launcher's own way between its processes carries a unique id from rank 0 to the others.
// Invariant: all ranks of a job do it equally often, and rank 0 takes part also when it has failed, so that all hear why.
#pragma once

#include "bootstrap/bootstrap.hpp"

namespace smddp::bootstrap {

// Completes a placement whose exchange is not kNone: address, port and job id; for rank 0 also the listener. Throws BOOTSTRAP,
// TIMEOUT, and rank 0's own error on all ranks.
void exchange_place(Placement& placement, int64_t deadline);

}  // namespace smddp::bootstrap
