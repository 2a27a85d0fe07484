// Another launcher's variables in our terms, for a process that this launcher already made a rank.
#pragma once

#include "environment.hpp"

namespace smddprun {

// Looks for a launcher in this order: RANK and WORLD_SIZE (smddprun, torchrun), OMPI_COMM_WORLD_*, PMI_*, SLURM_*; the order that
// smddp_init has too. If there is one, sets RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE and SMDATAPARALLEL_* (the local ones if it
// tells them) and returns true. Warns on standard error where two launchers disagree. Throws Failure for a bad value, which it names.
bool translate_launcher(Environment& environment);

}  // namespace smddprun
