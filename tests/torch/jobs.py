"""Jobs of several ranks for the tests. The test program imports torch once and forks the ranks of each job, which spares each of them
the seconds that the import takes."""

import contextlib
import os
import random
import signal
import socket
import sys
import time
import traceback
import warnings
from datetime import timedelta

import smdistributed.dataparallel.torch.torch_smddp  # noqa: F401
import torch
import torch.distributed as dist

warnings.filterwarnings("ignore", category=FutureWarning, module="torch")


def free_port():
    """Below the ports that the kernel hands out to clients: one of those could be taken before a test's store binds it."""
    while True:
        port = random.randrange(20000, 30000)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
                return port
            except OSError:
                pass


def environment(rank, size, port):
    return {
        "RANK": str(rank),
        "LOCAL_RANK": str(rank),
        "WORLD_SIZE": str(size),
        "LOCAL_WORLD_SIZE": str(size),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
    }


def repeats(full):
    """How often a test repeats: a tenth of the full number, at least 10 times; all of it where SMDDP_SOAK is set."""
    return full if os.environ.get("SMDDP_SOAK") else max(10, full // 10)


def _child(function, rank, size, port, backend, timeout, arguments):
    code = 1
    try:
        os.environ.update(environment(rank, size, port))
        torch.set_num_threads(1)
        if backend:
            dist.init_process_group(backend, timeout=timedelta(seconds=timeout))
        function(rank, size, *arguments)
        if backend and dist.is_initialized():
            dist.destroy_process_group()
        code = 0
    except SystemExit as exit_request:
        code = exit_request.code or 0
    except BaseException:
        sys.stderr.write(f"[rank {rank} of {size}, {function.__name__}] {traceback.format_exc()}\n")
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def job(function, size, *arguments, backend="smddp", timeout=60, expect=0, limit=150):
    """Runs function(rank, size, *arguments) on `size` ranks in a process group of the backend (None: without one); asserts that each
    ends with the code `expect`, a number or a dictionary by rank, within limit seconds. timeout: of the group, in seconds."""
    sys.stdout.flush()
    sys.stderr.flush()
    port = free_port()
    ranks = {}
    for rank in range(size):
        pid = os.fork()
        if pid == 0:
            _child(function, rank, size, port, backend, timeout, arguments)
        ranks[pid] = rank
    start, codes = time.monotonic(), {}
    while ranks and time.monotonic() - start < limit:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid in ranks:
            codes[ranks.pop(pid)] = os.waitstatus_to_exitcode(status)
        else:
            time.sleep(0.01)
    for pid in ranks:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    name = f"{function.__name__} on {size} ranks"
    assert not ranks, f"{name}: ranks {sorted(ranks.values())} still ran after {limit} s; the others ended with {codes}"
    wanted = expect if isinstance(expect, dict) else dict.fromkeys(range(size), expect)
    assert codes == wanted, f"{name}: exit codes by rank {codes}, expected {wanted}"
    print(f"ok: {name} ({time.monotonic() - start:.1f} s)", flush=True)


@contextlib.contextmanager
def raises(kinds, *words):
    """Asserts that the block raises one of the kinds, with each of the words in its text."""
    try:
        yield
    except kinds as error:
        for word in words:
            assert word in str(error), f"no {word!r} in: {error}"
    else:
        raise AssertionError(f"no exception; expected {kinds} with {words}")


def same(got, wanted, what=""):
    """Asserts equal tensors: dtype, shape and every bit."""
    wanted = torch.as_tensor(wanted, dtype=got.dtype) if not isinstance(wanted, torch.Tensor) else wanted
    assert got.dtype == wanted.dtype and got.shape == wanted.shape, f"{what}: {got.dtype} {got.shape}, expected {wanted.dtype} {wanted.shape}"
    assert torch.equal(got, wanted), f"{what}: {got}, expected {wanted}"


def main(tests):
    """Runs the tests named on the command line, or all."""
    chosen = sys.argv[1:]
    for test in tests:
        if not chosen or test.__name__ in chosen:
            test()
    print("all passed")
