// PMIx, what Open MPI's prterun speaks with its processes. The client library is loaded at run time, in a child of this process: it has
// threads, and an MPI library whose PMIx somebody else has begun, or begun and ended, does not start. Once such a library has started, its
// PMIx serves. Invariant: nothing of PMIx stays.
#pragma once

#include "bootstrap/bootstrap.hpp"

namespace smddp::bootstrap {

// Whether the headers of PMIx were there when the library was built.
bool pmix_is_built_in();

// As pmi_exchange.
std::string pmix_exchange(const Placement& placement, const std::string& key, const std::string& value, int64_t deadline);

}  // namespace smddp::bootstrap
