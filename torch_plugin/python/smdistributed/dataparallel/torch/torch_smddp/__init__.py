"""Registers "smddp" as a backend of torch.distributed, for tensors on cpu and cuda devices.

    import smdistributed.dataparallel.torch.torch_smddp
    torch.distributed.init_process_group(backend="smddp")

The import starts no thread and opens no connection. Where a launcher's variables tell this process's place, they are also
given under the names SMDATAPARALLEL_LOCAL_RANK, SMDATAPARALLEL_WORLD_RANK and SMDATAPARALLEL_WORLD_SIZE.
"""

import atexit

import torch
import torch.distributed

from . import _environment, _torch_range

_torch_range.check(torch.__version__, torch.__file__)

from . import _smddp_torch  # noqa: E402  (its libraries are those of torch, which must be loaded first and fit)
from ._smddp_torch import ProcessGroupSMDDP, library_version  # noqa: E402

__all__ = ["ProcessGroupSMDDP", "library_version"]

if not torch.distributed.is_available():
    raise ImportError("smdistributed.dataparallel.torch.torch_smddp: this build of torch has no torch.distributed")


def _create(group, options):
    _environment.offer_bucket_memory()
    return _smddp_torch.create_backend(group, options)


torch.distributed.Backend.register_backend("smddp", _create, extended_api=True, devices=["cpu", "cuda"])
_environment.export_place()
atexit.register(_smddp_torch.at_exit)
