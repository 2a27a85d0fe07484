"""This process's place in the job, from the variables of whichever launcher started it."""

import os

# First found wins, as in the library: torchrun and smddprun, Open MPI, PMI and MPICH, Slurm.
_SOURCES = {
    "SMDATAPARALLEL_WORLD_RANK": ("RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"),
    "SMDATAPARALLEL_WORLD_SIZE": ("WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS"),
    "SMDATAPARALLEL_LOCAL_RANK": ("LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"),
}


def export_place(environ=os.environ):
    """Sets the SMDATAPARALLEL_* variables that are absent and can be known."""
    for target, sources in _SOURCES.items():
        if target in environ:
            continue
        for source in sources:
            if environ.get(source, "").isdigit():
                environ[target] = environ[source]
                break
