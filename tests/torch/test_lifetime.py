"""Work, buffers, threads and processes that end at unusual times."""

import gc
import os
import subprocess
import sys
import threading
import time

import torch
import torch.distributed as dist
from jobs import environment, free_port, job, main, raises, same

COUNT = 1 << 20


def temporaries(rank, size):
    """Row 76: the input of an asynchronous call is dropped, and its memory asked for anew."""
    expected = torch.full((COUNT,), size * (size + 1) / 2)
    for _ in range(5):
        work = dist.all_reduce(torch.full((COUNT,), rank + 1.0), async_op=True)
        noise = [torch.full((COUNT,), -9.0) for _ in range(20)]
        gc.collect()
        work.wait()
        same(work.result()[0], expected, "result")
        same(work.get_future().value()[0], expected, "future")
        del noise
    outputs = torch.empty(size, COUNT)
    work = dist.all_gather(list(outputs.unbind()), torch.full((COUNT,), float(rank)), async_op=True)
    work.wait()
    same(outputs[:, -1], list(map(float, range(size))), "gathered")


def dropped_work(rank, size):
    """Work that nobody waits for still runs, and what follows is right."""
    tensors = []
    for number in range(20):
        tensor = torch.full((COUNT // 8,), float(rank))
        tensors.append(tensor)
        dist.all_reduce(tensor, async_op=True)
    gc.collect()
    dist.barrier()
    for tensor in tensors:
        same(tensor, torch.full((COUNT // 8,), size * (size - 1) / 2), "dropped work")


def other_thread(rank, size):
    work = dist.all_reduce(tensor := torch.full((COUNT,), float(rank)), async_op=True)
    problems = []

    def wait():
        try:
            work.wait()
            same(tensor, torch.full((COUNT,), size * (size - 1) / 2), "waited for on another thread")
        except BaseException as error:
            problems.append(error)

    waiters = [threading.Thread(target=wait) for _ in range(3)]
    for waiter in waiters:
        waiter.start()
    work.wait()
    for waiter in waiters:
        waiter.join()
    assert not problems, problems


def callbacks(rank, size):
    """A callback of a future may issue and wait for further collectives."""

    def again(future):
        value = future.value()
        tensor = value[0] if isinstance(value, list) else value
        return dist.all_reduce(tensor, async_op=True).get_future().wait()[0]

    total = size * (size - 1) / 2
    for count in (1, COUNT):
        future = dist.all_reduce(torch.full((count,), float(rank)), async_op=True).get_future()
        same(future.then(again).then(again).wait(), torch.full((count,), total * size * size), "chain")


def threads_and_groups(rank, size):
    """One group for each of four threads, used at the same time."""
    groups = [dist.new_group(list(range(size))) for _ in range(4)]
    problems = []

    def work(number):
        try:
            for step in range(200):
                outputs = [torch.empty(8) for _ in range(size)]
                dist.all_gather(outputs, torch.full((8,), rank + 10.0 * number + 100 * step), group=groups[number])
                for r in range(size):
                    same(outputs[r], torch.full((8,), r + 10.0 * number + 100 * step), f"thread {number}")
        except BaseException as error:
            problems.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(100)
    assert not problems, problems


def forked_children(rank, size):
    """Row 34: children of fork neither disturb the parent nor use its communicator."""
    dist.all_reduce(torch.ones(1 << 18))
    children = []
    for kind in range(4):
        pid = os.fork()
        if pid == 0:
            code = 1
            if kind in (0, 1):
                code = 0
            else:
                try:
                    dist.all_reduce(torch.ones(1))
                except RuntimeError as error:
                    code = 0 if "closed" in str(error) or "fork" in str(error) else 2
            if kind % 2:
                sys.exit(code)  # with the exit handlers
            os._exit(code)
        children.append(pid)
    for pid in children:
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    for number in range(100):
        tensor = torch.full((1000,), float(rank + number))
        dist.all_reduce(tensor)
        same(tensor, torch.full((1000,), size * (size - 1) / 2 + size * number), "after the children")


class Squares(torch.utils.data.Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, index):
        return torch.full((16,), float(index * index))


def loader_workers(rank, size):
    """Row 34: loader processes, forked and spawned, while collectives go on; row 64: their CPUs are the parent's."""
    allowed = os.sched_getaffinity(0)
    for method in ("fork", "spawn"):
        loader = torch.utils.data.DataLoader(Squares(), 4, num_workers=2, multiprocessing_context=method)
        for batch in loader:
            total = batch.clone()
            dist.all_reduce(total)
            same(total, batch * size, method)
    assert os.sched_getaffinity(0) == allowed


EXIT_SCRIPT = """
import os, sys, time
import torch, torch.distributed as dist
allowed = os.sched_getaffinity(0)
threads = len(os.listdir("/proc/self/task"))
import smdistributed.dataparallel.torch.torch_smddp
assert len(os.listdir("/proc/self/task")) == threads, "the import started a thread"
assert os.environ["SMDATAPARALLEL_LOCAL_RANK"] == os.environ["RANK"]
dist.init_process_group("smddp")
assert os.sched_getaffinity(0) == allowed
rank = dist.get_rank()
done = dist.all_reduce(torch.ones(1000), async_op=True)
done.wait()
how = sys.argv[1]
if how == "pending":
    pending = dist.all_reduce(torch.ones(1 << 20), async_op=True)
elif how == "pending on one":
    if rank == 0:
        pending = dist.all_reduce(torch.ones(1 << 20), async_op=True)
        future = pending.get_future().then(lambda f: f.value())
elif how == "exception":
    pending = dist.all_reduce(torch.ones(10), async_op=True)
    raise KeyError("on purpose")
elif how == "destroy late":
    if rank == 0:
        time.sleep(1)
        dist.destroy_process_group()
elif how == "clean":
    dist.destroy_process_group()
sys.exit(0)
"""


def exits(how, code, runs):
    """Row 29: the interpreter leaves without destroy_process_group: in time, with its own exit code, and silently."""
    for _ in range(runs):
        port = free_port()
        start = time.monotonic()
        ranks = [
            subprocess.Popen(
                [sys.executable, "-c", EXIT_SCRIPT, how],
                env=os.environ | environment(rank, 2, port),
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
            for rank in range(2)
        ]
        for rank, process in enumerate(ranks):
            text, _ = process.communicate(timeout=120)
            assert process.returncode == code, f"{how}: rank {rank} ended with {process.returncode}: {text}"
            for word in ("terminate called", "Fatal", "Aborted", "core dumped"):
                assert word not in text, f"{how}: rank {rank}: {text}"
            assert how == "exception" or not text.strip(), f"{how}: rank {rank} wrote: {text}"
        print(f"ok: exit {how} ({time.monotonic() - start:.1f} s)", flush=True)


def test_work():
    job(temporaries, 2)
    job(dropped_work, 3)
    job(other_thread, 2)
    job(callbacks, 2)
    job(threads_and_groups, 2)


def test_fork():
    job(forked_children, 2)
    job(loader_workers, 2, timeout=120, limit=200)


def test_exit():
    runs = int(os.environ.get("SMDDP_TEST_RUNS", "2"))
    for how in ("clean", "pending", "pending on one", "destroy late"):
        exits(how, 0, runs)
    exits("exception", 1, runs)


def closed_group(rank, size):
    group = dist.new_group([0, 1])
    backend = group._get_backend(torch.device("cpu"))
    dist.destroy_process_group(group)
    with raises(RuntimeError, "closed"):
        backend.allreduce([torch.ones(1)]).wait()
    dist.barrier()


def test_closed():
    job(closed_group, 2)


if __name__ == "__main__":
    main([test_work, test_fork, test_closed, test_exit])
