// PMI-1, the lines in which Hydra (MPICH, Intel MPI) and its kin talk to their processes over PMI_FD. Invariant: the descriptor is left
// so that an MPI library of the same process can begin with it afterwards.
#pragma once

#include "bootstrap/bootstrap.hpp"

namespace smddp::bootstrap {

// Collective over the job: rank 0's value, for all; value: without spaces, of rank 0. Throws BOOTSTRAP, TIMEOUT.
std::string pmi_exchange(const Placement& placement, const std::string& key, const std::string& value, int64_t deadline);

}  // namespace smddp::bootstrap
