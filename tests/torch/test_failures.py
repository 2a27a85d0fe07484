"""What goes wrong on one rank is an error on all, in words that say what and who."""

import os
import signal
import time
from datetime import timedelta

import torch
import torch.distributed as dist
from jobs import job, main, raises

FAILURE = dist.DistBackendError


def late_rank(rank, size, async_op):
    """The others time out and name the rank that did not come."""
    dist.barrier()
    if rank == size - 1:
        time.sleep(4)
        return
    start = time.monotonic()
    with raises(FAILURE, " Timed out ", str(size - 1), "all_reduce"):
        work = dist.all_reduce(torch.ones(100_000), async_op=async_op)
        if async_op:
            work.wait()
    assert 0.9 < time.monotonic() - start < 3, time.monotonic() - start


def call_timeouts(rank, size):
    """Row 26: the timeout of a call, of a wait, and of the group once changed."""
    dist.barrier()
    if rank == 1:
        time.sleep(3)
        dist.all_reduce(torch.ones(10))
        time.sleep(2)
        return
    work = dist.all_reduce(torch.ones(10), async_op=True)
    start = time.monotonic()
    with raises(FAILURE, " Timed out "):
        work.wait(timedelta(milliseconds=300))
    assert 0.2 < time.monotonic() - start < 1.5
    assert not work.is_completed()
    work.wait()  # the operation went on
    dist.group.WORLD.set_timeout(timedelta(seconds=1))
    start = time.monotonic()
    with raises(FAILURE, " Timed out "):
        dist.all_reduce(torch.ones(10))
    assert 0.9 < time.monotonic() - start < 2, time.monotonic() - start


def barrier_timeout(rank, size):
    dist.barrier()
    if rank == 1:
        time.sleep(2)
        return
    start = time.monotonic()
    with raises(FAILURE, " Timed out ", "barrier"):
        dist.barrier(timeout=timedelta(milliseconds=500))
    assert 0.4 < time.monotonic() - start < 1.8


def monitored(rank, size):
    """The text is gloo's."""
    dist.barrier()
    if rank == 1:
        time.sleep(3)
        return
    words = ("[Rank 0]: Rank 1 failed to pass monitoredBarrier in 500 ms",) if rank == 0 else ("monitoredBarrier",)
    with raises(RuntimeError, *words):
        dist.group.WORLD.monitored_barrier(timedelta(milliseconds=500))


def killed_rank(rank, size, async_op):
    """SIGKILL of a rank: the survivors know within five seconds who it was, and keep running."""
    dist.all_reduce(torch.ones(10))
    if rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    start = time.monotonic()
    with raises(FAILURE, "rank 1"):
        for _ in range(1000):
            work = dist.all_reduce(torch.ones(1000), async_op=async_op)
            if async_op:
                work.wait()
            time.sleep(0.005)
    assert time.monotonic() - start < 6, time.monotonic() - start
    with raises(FAILURE, "rank 1"):
        dist.barrier()


def killed_in_subgroup(rank, size):
    """Row 25: a group that was never used notices too; the ranks in its text are explained."""
    group = dist.new_group([1, 2])
    dist.barrier()
    if rank == 2:
        os._exit(86)
    if rank == 1:
        start = time.monotonic()
        with raises(FAILURE, "rank 1", "[1, 2]"):
            dist.all_reduce(torch.ones(4), group=group)
        assert time.monotonic() - start < 5


def future_of_failure(rank, size):
    if rank == 1:
        time.sleep(3)
        return
    work = dist.all_reduce(torch.ones(100_000), async_op=True)
    with raises(RuntimeError, " Timed out "):
        work.get_future().wait()
    with raises(FAILURE, " Timed out "):
        work.wait()
    assert work.exception() is not None and not work.is_success()


def mismatch(rank, size, kind, async_op):
    """Different arguments are an error on every rank, with both sides' arguments; never a wrong result."""
    dist.barrier()
    group = dist.group.WORLD

    def call():
        count, dtype, op = 100, torch.float32, dist.ReduceOp.SUM
        if kind == "count" and rank == 0:
            count = 99
        if kind == "large count" or kind == "dtype":
            count = 100_000 - (kind != "dtype" and rank == 0)
        if kind == "dtype" and rank == 0:
            dtype = torch.int32
        if kind == "operation" and rank == 0:
            op = dist.ReduceOp.MAX
        tensor = torch.ones(count, dtype=dtype)
        if kind == "collective" and rank == 0:
            return dist.broadcast(tensor, 0, async_op=async_op)
        if kind == "root":
            return dist.broadcast(tensor, rank % 2, async_op=async_op)
        return dist.all_reduce(tensor, op, group, async_op=async_op)

    start = time.monotonic()
    with raises(FAILURE, "MISMATCH"):
        work = call()
        if async_op:
            work.wait()
        dist.barrier()  # who is right to return early, such as a root, learns of it here
    assert time.monotonic() - start < 8


def uneven_exchange(rank, size):
    """Row 23: splits that do not fit each other."""
    splits = [[2, 1], [3, 2]][rank]
    with raises(FAILURE, "8 bytes", "rank 0", "rank 1"):
        dist.all_to_all_single(torch.empty(sum(splits)), torch.ones(4), splits, [2, 2])
        for _ in range(100):
            dist.barrier()


def short_receive(rank, size):
    if rank == 0:
        dist.send(torch.ones(8), 1)
        dist.send(torch.ones(2), 1)
    else:
        with raises(FAILURE, "TRUNCATED"):
            dist.recv(torch.empty(4), 0)
        with raises(FAILURE, "8 bytes"):
            dist.recv(torch.empty(4), 0)


def bad_arguments(rank, size):
    """Wrong on every rank, and said before anything is sent."""
    group = dist.group.WORLD
    one = torch.ones(4)
    with raises((ValueError, RuntimeError), "2"):
        group.broadcast(one, 5).wait()
    with raises(ValueError, "3", "2 ranks"):
        group.allgather([[one] * 3], [one]).wait()
    with raises(ValueError, "2 times the 4", "7"):
        dist.all_gather_into_tensor(torch.empty(7), one)
    with raises(ValueError, "one tensor"):
        group.allreduce([one, one]).wait()
    with raises(ValueError, "Sparse"):
        dist.all_reduce(torch.eye(3).to_sparse())
    with raises((ValueError, RuntimeError), "Split sizes"):
        dist.all_to_all_single(torch.empty(4), one, [1, 1], [2, 2])
    dist.all_reduce(one)
    assert one[0] == size


def aborted(rank, size):
    dist.barrier()
    if rank == 0:
        dist.group.WORLD._get_backend(torch.device("cpu"))
        dist.distributed_c10d._abort_process_group()
        time.sleep(1)
        os._exit(0)
    with raises(FAILURE, "rank 0"):
        dist.all_reduce(torch.ones(3))


def left_early(rank, size):
    """A rank that has destroyed its group is named at once, not after the timeout."""
    dist.barrier()
    if rank == 0:
        return
    start = time.monotonic()
    with raises(FAILURE, " closed "):
        dist.all_reduce(torch.ones(3))
    assert time.monotonic() - start < 5


def rank_0_first(rank, size, how):
    """Row 85: while rank 0 prepares something, the others wait in a barrier with a longer timeout than the group's. It is not cut
    short, and rank 0's death or exception ends it at once."""
    dist.barrier()
    if rank == 0:
        time.sleep(4 if how == "slow" else 0.2)
        if how == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        if how == "raises":
            raise SystemExit(3)
        dist.barrier(timeout=timedelta(seconds=60))
        return
    start = time.monotonic()
    if how == "slow":
        dist.barrier(timeout=timedelta(seconds=60))
        assert time.monotonic() - start > 3
        return
    with raises(FAILURE, "rank 0"):
        dist.barrier(timeout=timedelta(seconds=60))
    assert time.monotonic() - start < 5


def test_timeouts():
    for async_op in (False, True):
        job(late_rank, 3, async_op, timeout=1.0)
    job(call_timeouts, 2, timeout=20)
    job(barrier_timeout, 2, timeout=20)
    job(monitored, 3, timeout=20)
    job(future_of_failure, 2, timeout=1.0)
    job(rank_0_first, 2, "slow", timeout=3)


def test_deaths():
    for async_op in (False, True):
        job(killed_rank, 3, async_op, expect={0: 0, 1: -signal.SIGKILL, 2: 0})
    job(killed_in_subgroup, 3, expect={0: 0, 1: 0, 2: 86})
    job(left_early, 2)
    job(rank_0_first, 3, "killed", timeout=20, expect={0: -signal.SIGKILL, 1: 0, 2: 0})
    job(rank_0_first, 2, "raises", timeout=20, expect={0: 3, 1: 0})
    job(aborted, 2)


def test_mismatches():
    for kind in ("count", "large count", "dtype", "operation", "collective", "root"):
        for async_op in (False, True):
            job(mismatch, 3 if kind != "root" else 2, kind, async_op, timeout=10)
    job(uneven_exchange, 2, timeout=10)
    job(short_receive, 2)
    job(bad_arguments, 2)


if __name__ == "__main__":
    main([test_timeouts, test_deaths, test_mismatches])
