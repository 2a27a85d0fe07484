// A place to meet in 128 bytes. Invariant: the socket of an id is listened at from its creation until the rank 0 that used it has met.
#pragma once

#include "bootstrap/bootstrap.hpp"

namespace smddp::bootstrap {

// Address, port and job id from the id; for rank 0 also the listener. Throws INVALID_ARGUMENT for bytes that are no id, INVALID_USAGE
// where rank 0 is not the creator.
void use_unique_id(const smddp_unique_id_t& id, Placement& placement);

}  // namespace smddp::bootstrap
