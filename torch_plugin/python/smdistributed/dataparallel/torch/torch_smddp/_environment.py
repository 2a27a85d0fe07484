"""This process's place in the job, from the variables of whichever launcher started it."""

import os

import torch

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


def offer_bucket_memory():
    """Has DistributedDataParallel ask its backend for the memory of its buckets, which spares allreduce a copy, unless the user has
    set torch's switch. Beside a GPU, where the switch also concerns NCCL, it stays as it is."""
    if not torch.cuda.is_available():
        os.environ.setdefault("DDP_DISABLE_COMM_MEM", "0")
