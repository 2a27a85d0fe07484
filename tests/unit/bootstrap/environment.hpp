// The variables that placement() reads, set for one case at a time. Invariant: what is not given to set_only is not set.
#pragma once

#include <cstdlib>
#include <initializer_list>
#include <utility>

namespace smddp::bootstrap::test {

inline void set_only(std::initializer_list<std::pair<const char*, const char*>> variables) {
  for (const char* name :
       {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT",
        "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "PMIX_NAMESPACE", "PMI_RANK", "PMI_SIZE", "PMI_FD", "PMI_JOBID", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_STEP_ID",
        "SLURM_JOB_ID", "SLURM_STEP_NODELIST", "SLURM_NODELIST", "SLURMD_NODENAME", "SMDDP_BOOTSTRAP_ADDRESS", "SMDDP_BOOTSTRAP_PORT", "SMDDP_BOOTSTRAP_FD", "SMDDP_JOB_ID", "SMDDP_SERVERS", "SMDDP_SERVER", "SMDDP_BOOTSTRAP_INTERFACE",
        "SMDDP_NODE_ID"}) {
    unsetenv(name);
  }
  for (const auto& [name, value] : variables) setenv(name, value, 1);
}

}  // namespace smddp::bootstrap::test
