"""Work, buffers, threads and processes that end at unusual times."""

import atexit
import gc
import os
import subprocess
import sys
import tempfile
import threading
import time

import torch
import torch.distributed as dist
from jobs import environment, free_port, job, main, raises, repeats, same

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
    """Row 34: loader processes, forked and spawned, while collectives go on."""
    for method in ("fork", "spawn"):
        loader = torch.utils.data.DataLoader(Squares(), 4, num_workers=2, multiprocessing_context=method)
        for batch in loader:
            total = batch.clone()
            dist.all_reduce(total)
            same(total, batch * size, method)


FIRST_IMPORT = """
import os, torch
threads = len(os.listdir("/proc/self/task"))
import smdistributed.dataparallel.torch.torch_smddp
assert len(os.listdir("/proc/self/task")) == threads, "the import started a thread"
assert os.environ["SMDATAPARALLEL_LOCAL_RANK"] == "1"
"""

MASKS = """
import os, sys
mask = os.sched_getaffinity(0)

def unchanged(when):
    for task in os.listdir("/proc/self/task"):
        got = os.sched_getaffinity(int(task))
        assert got == mask, f"{when}: thread {task} may use {got}, not {mask}"

import torch, torch.distributed as dist
unchanged("before the import")
import smdistributed.dataparallel.torch.torch_smddp
unchanged("after the import")

class Masks(torch.utils.data.Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, index):
        return torch.tensor([cpu in os.sched_getaffinity(0) for cpu in range(4096)])

if __name__ == "__main__":
    dist.init_process_group("smddp")
    dist.all_reduce(torch.ones(1 << 20), async_op=True).wait()
    unchanged("in the group")
    wanted = torch.tensor([cpu in mask for cpu in range(4096)])
    for method in ("fork", "spawn"):
        for batch in torch.utils.data.DataLoader(Masks(), 1, num_workers=2, multiprocessing_context=method):
            assert torch.equal(batch[0], wanted), method
    dist.barrier()
    dist.destroy_process_group()
    unchanged("after the group")
"""

KEPT = {}  # handles that live until the interpreter clears its modules


def leaving(rank, how):
    """What a rank does before it leaves without destroy_process_group."""
    dist.init_process_group("smddp")
    dist.all_reduce(torch.ones(1000), async_op=True).wait()
    if how == "pending":
        KEPT["work"] = dist.all_reduce(torch.ones(1 << 20), async_op=True)
    elif how == "pending on one" and rank == 0:
        KEPT["work"] = dist.all_reduce(torch.ones(1 << 20), async_op=True)
        KEPT["future"] = KEPT["work"].get_future().then(lambda future: future.value())
    elif how == "handle freed at exit" and rank == 0:
        KEPT["work"] = dist.all_reduce(torch.ones(1 << 20), async_op=True)
        atexit.register(KEPT.clear)
    elif how == "exception":
        KEPT["work"] = dist.all_reduce(torch.ones(10), async_op=True)
        raise KeyError("on purpose")
    elif how == "destroy late" and rank == 0:
        time.sleep(0.5)
        dist.destroy_process_group()
    elif how == "destroy early" and rank == 1:
        dist.destroy_process_group()
    sys.exit(0)


def exits(how, code, runs):
    """Row 29: the interpreter leaves on its own way, through its exit handlers: in time, with its own exit code, and silently."""
    begin = time.monotonic()
    for _ in range(runs):
        port, start = free_port(), time.monotonic()
        readers, ranks = [], {}
        for rank in range(2):
            reader, writer = os.pipe()
            pid = os.fork()
            if pid == 0:
                os.dup2(writer, 1)
                os.dup2(writer, 2)
                os.environ.update(environment(rank, 2, port) | {"SMDDP_LOG": "error"})
                leaving(rank, how)
            os.close(writer)
            ranks[pid] = rank
            readers.append(reader)
        texts = [b"".join(iter(lambda r=reader: os.read(r, 65536), b"")).decode() for reader in readers]
        for pid, rank in ranks.items():
            got = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
            assert got == code, f"{how}: rank {rank} ended with {got}: {texts[rank]}"
        for reader in readers:
            os.close(reader)
        for rank, text in enumerate(texts):
            for word in ("terminate called", "Fatal", "Aborted", "core dumped"):
                assert word not in text, f"{how}: rank {rank}: {text}"
            assert not text.strip() or (how == "exception" and "on purpose" in text), f"{how}: rank {rank} wrote: {text}"
        assert time.monotonic() - start < 15, f"{how}: {time.monotonic() - start:.1f} s"
    print(f"ok: {runs} exits, {how} ({(time.monotonic() - begin) / runs:.2f} s each)", flush=True)


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
    runs = max(10, repeats(200) // 7)  # of each of the seven ways
    for how in ("clean", "pending", "pending on one", "handle freed at exit", "destroy late", "destroy early"):
        exits(how, 0, runs)
    exits("exception", 1, runs)


def test_first_import():
    subprocess.run([sys.executable, "-c", FIRST_IMPORT], env=os.environ | environment(1, 2, 1), check=True, timeout=120)


def test_masks():
    """Row 64: no thread of a rank and none of its loader processes, forked or spawned, has other CPUs than the rank was started with."""
    allowed = sorted(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory() as folder:
        script = os.path.join(folder, "masks.py")
        with open(script, "w") as file:
            file.write(MASKS)
        for cpus in {tuple(allowed[-1:]), tuple(allowed)}:
            port, command = free_port(), ["taskset", "-c", ",".join(map(str, cpus)), sys.executable, "-W", "ignore", script]
            ranks = [subprocess.Popen(command, env=os.environ | environment(rank, 2, port)) for rank in range(2)]
            try:
                assert [rank.wait(150) for rank in ranks] == [0, 0], cpus
            finally:
                for rank in ranks:
                    rank.kill()
                    rank.wait()


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
    main([test_work, test_fork, test_masks, test_closed, test_first_import, test_exit])
