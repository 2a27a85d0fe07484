"""Groups, roots and objects: how a group comes into being, who is who in it, and what torch asks of its options."""

import copy
import os
import tempfile
from datetime import timedelta

import smdistributed.dataparallel.torch.torch_smddp as torch_smddp
import torch
import torch.distributed as dist
from jobs import free_port, job, main, raises, repeats, same


def init_forms(rank, size, form, port, path):
    """Every documented way to say where the ranks meet."""
    for life in range(2 if form in ("env", "tcp") else 1):  # a second life in the same process
        # At a port of its own: a rank that is quick would else find the other one's store of the first life.
        options = {"rank": rank, "world_size": size, "timeout": timedelta(seconds=60)}
        if form == "env":
            os.environ["MASTER_PORT"] = str(port + life)
            options = {}
        elif form == "tcp":
            options["init_method"] = f"tcp://127.0.0.1:{port + life}"
        elif form == "file":
            options["init_method"] = f"file://{path}"
        elif form == "tcp store":
            options["store"] = dist.TCPStore("127.0.0.1", port, size, rank == 0)
        elif form == "file store":
            options["store"] = dist.FileStore(path, size)
        dist.init_process_group("smddp", **options)
        assert dist.get_backend() == "smddp" and dist.get_rank() == rank and dist.get_world_size() == size
        tensor = torch.tensor([rank + 1.0])
        dist.all_reduce(tensor)
        same(tensor, [size * (size + 1) / 2], form)
        dist.destroy_process_group()


def same_store_twice(rank, size, port):
    store = dist.TCPStore("127.0.0.1", port, size, rank == 0)
    for _ in range(3):
        dist.init_process_group("smddp", store=store, rank=rank, world_size=size)
        dist.all_reduce(torch.ones(1))
        dist.barrier()
        dist.destroy_process_group()


def mixed_backends(rank, size):
    dist.init_process_group("cpu:smddp", timeout=timedelta(seconds=60))
    gloo = dist.new_group(backend="gloo")
    ours, theirs = torch.full((1000,), float(rank)), torch.full((1000,), float(rank))
    dist.all_reduce(ours)
    dist.all_reduce(theirs, group=gloo)
    same(ours, theirs, "smddp and gloo")
    dist.destroy_process_group()


def group_ranks(rank, size):
    """Row 19: roots are ranks of the job, whatever their place in the group."""
    group = dist.new_group([1, 3])
    if rank not in (1, 3):
        assert group is dist.GroupMember.NON_GROUP_MEMBER
        dist.barrier()
        return
    mine = torch.tensor([11.0 if rank == 1 else 33.0])
    tensor = mine.clone()
    dist.broadcast(tensor, 3, group)
    same(tensor, [33.0], "broadcast from rank 3 of the job")
    tensor = mine.clone()
    dist.broadcast(tensor, group=group, group_src=1)
    same(tensor, [33.0], "broadcast from rank 1 of the group")
    outputs = [torch.empty(1), torch.empty(1)] if rank == 1 else None
    dist.gather(mine, outputs, 1, group)
    if rank == 1:
        same(torch.cat(outputs), [11.0, 33.0], "gather")
    with raises((ValueError, RuntimeError), "0"):
        dist.broadcast(tensor, 0, group)
    if rank == 1:
        dist.send(mine, 3, group)
    else:
        dist.recv(tensor, 1, group)
        same(tensor, [11.0], "recv from rank 1 of the job")
    dist.all_reduce(mine, group=group)
    same(mine, [44.0], "all_reduce")
    dist.barrier()


def subgroups(rank, size):
    """Overlapping and disjoint groups, used out of order; many of them, without a trace left."""
    halves, _ = dist.new_subgroups(2)
    pairs = {(a, b): dist.new_group([a, b]) for a in range(size) for b in range(a + 1, size)}
    for (a, b), group in reversed(pairs.items()):
        if rank in (a, b):
            tensor = torch.tensor([float(rank)])
            dist.all_reduce(tensor, group=group)
            same(tensor, [float(a + b)], "pair")
    tensor = torch.tensor([float(rank)])
    dist.all_reduce(tensor, group=halves)
    same(tensor, [float(rank // 2 * 4 + 1)], "half")
    dist.barrier()

    def traces():
        return len(os.listdir("/proc/self/fd")), len(os.listdir("/proc/self/task"))

    counts = []
    for _ in range(max(15, repeats(200))):
        group = dist.new_group(list(range(size)))
        dist.all_reduce(tensor, group=group)
        dist.destroy_process_group(group)
        dist.barrier()
        counts.append(traces())
    assert counts[-1] == counts[4], f"descriptors and threads grow with each group: {counts}"


def crossed_order(rank, size):
    """Row 17: asynchronous calls on two groups in opposite orders."""
    first, second = dist.new_group([0, 1]), dist.new_group([0, 1])
    for count in (1, 100_000):
        tensors = {first: torch.full((count,), 1.0), second: torch.full((count,), 2.0)}
        works = [dist.all_reduce(tensors[group], group=group, async_op=True) for group in ((first, second), (second, first))[rank]]
        for work in works:
            work.wait(timedelta(seconds=20))
        same(tensors[first], torch.full((count,), 2.0))
        same(tensors[second], torch.full((count,), 4.0))


def objects(rank, size):
    everything = [None] * size
    dist.all_gather_object(everything, {"rank": rank, "text": "x" * (rank * 5000)})
    assert [item["rank"] for item in everything] == list(range(size)) and len(everything[-1]["text"]) == 5000 * (size - 1)
    box = ["from 0", {1: [2]}, rank] if rank == 0 else [None] * 3
    dist.broadcast_object_list(box, 0)
    assert box == ["from 0", {1: [2]}, 0], box
    gathered = [None] * size if rank == size - 1 else None
    dist.gather_object(("r", rank), gathered, size - 1)
    if rank == size - 1:
        assert gathered == [("r", r) for r in range(size)], gathered
    mine = [None]
    dist.scatter_object_list(mine, [f"for {r}" for r in range(size)] if rank == 0 else None, 0)
    assert mine == [f"for {rank}"], mine
    if rank == 0:
        for peer in range(1, size):
            dist.send_object_list([peer, "p2p"], peer)
    else:
        got = [None, None]
        dist.recv_object_list(got, 0)
        assert got == [rank, "p2p"], got


def barriers(rank, size):
    dist.barrier()
    dist.barrier(device_ids=[0])
    dist.barrier(async_op=True).wait()
    dist.group.WORLD.monitored_barrier(timedelta(seconds=20))


def options_and_details(rank, size):
    backend = dist.group.WORLD._get_backend(torch.device("cpu"))
    assert isinstance(backend, torch_smddp.ProcessGroupSMDDP)
    assert backend is not None and backend.options is not None
    twin = copy.deepcopy(backend.options)
    assert twin._timeout == timedelta(seconds=60), twin._timeout
    before = backend._get_sequence_number_for_group() if hasattr(backend, "_get_sequence_number_for_group") else None
    dist.all_reduce(torch.ones(1))
    if before is not None:
        assert backend._get_sequence_number_for_group() == before + 1
    dist.group.WORLD.set_timeout(timedelta(seconds=30))
    assert backend.options._timeout == timedelta(seconds=30)
    assert backend.counter("bytes") >= 0
    with raises(RuntimeError, "no_such_counter"):
        backend.counter("no_such_counter")
    work = dist.all_reduce(torch.full((2,), float(rank)), async_op=True)
    assert work.wait() and work.is_completed() and work.is_success()
    same(work.result()[0], torch.full((2,), size * (size - 1) / 2), "result")
    same(work.get_future().wait()[0], torch.full((2,), size * (size - 1) / 2), "future")


def profiled(rank, size):
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], record_shapes=True) as profiler:
        dist.all_reduce(torch.ones(3, 2))
        dist.broadcast(torch.ones(4), 0, async_op=True).wait()
        dist.barrier()
    events = {event.name: event for event in profiler.events()}
    for name in ("smddp:all_reduce", "smddp:broadcast", "smddp:barrier"):
        assert name in events, f"no {name} among {sorted(events)}"
    assert [3, 2] in list(map(list, events["smddp:all_reduce"].input_shapes)), events["smddp:all_reduce"].input_shapes


def detail(rank, size):
    """TORCH_DISTRIBUTED_DEBUG=DETAIL wraps the backend and asks it for sequence numbers."""
    dist.set_debug_level(dist.DebugLevel.DETAIL)
    dist.init_process_group("smddp", timeout=timedelta(seconds=60))
    tensor = torch.ones(3)
    dist.all_reduce(tensor)
    same(tensor, [float(size)] * 3, "DETAIL")
    dist.destroy_process_group()


def test_init():
    for form in ("env", "tcp", "file", "tcp store", "file store"):
        with tempfile.TemporaryDirectory() as folder:
            job(init_forms, 2, form, free_port(), os.path.join(folder, "meet"), backend=None)
    job(same_store_twice, 2, free_port(), backend=None)
    job(mixed_backends, 2, backend=None)
    job(init_forms, 1, "env", free_port(), "", backend=None)


def test_groups():
    job(group_ranks, 4)
    job(subgroups, 4)
    job(crossed_order, 2)


def test_objects():
    for size in (1, 2, 3):
        job(objects, size)


def test_details():
    job(barriers, 3)
    job(options_and_details, 2)
    job(profiled, 2)
    job(detail, 2, backend=None)


if __name__ == "__main__":
    main([test_init, test_groups, test_objects, test_details])
