"""Row 8: tensors whose memory is not in the order of their indices give right results, or an error before any traffic."""

import torch
import torch.distributed as dist
from jobs import job, main, raises, same


def fresh(kind, rank):
    """A tensor of distinct values whose layout is of that kind, and the memory that it is a view of."""
    start = 100.0 * rank
    if kind == "column":
        base = torch.arange(12.0).reshape(6, 2) + start
        return base[:, 0], base
    if kind == "every other row":
        base = torch.arange(24.0).reshape(6, 4) + start
        return base[::2], base
    if kind == "transposed":
        base = torch.arange(12.0).reshape(3, 4) + start
        return base.t(), base
    if kind == "channels_last":
        tensor = (torch.arange(48.0).reshape(2, 3, 4, 2) + start).contiguous(memory_format=torch.channels_last)
        return tensor, tensor
    base = torch.arange(12.0).reshape(3, 4) + start
    # Ranks of different layouts with the same shape: only the order of the indices is common.
    return (base.t().contiguous().t() if rank % 2 else base), base


KINDS = ("column", "every other row", "transposed", "channels_last", "mixed")


def everyones(kind, size):
    return [fresh(kind, r)[0].clone(memory_format=torch.contiguous_format) for r in range(size)]


def compact(tensor):
    return tensor.clone(memory_format=torch.contiguous_format)


def untouched(kind, rank, base):
    """What lies between the elements of the view keeps its value."""
    if kind == "column":
        same(base[:, 1], fresh(kind, rank)[1][:, 1].clone(), "the other column")
    if kind == "every other row":
        same(base[1::2], fresh(kind, rank)[1][1::2].clone(), "the other rows")


def strides(rank, size):
    for kind in KINDS:
        parts = everyones(kind, size)
        total = sum(parts[1:], parts[0].clone())
        for async_op in (False, True):
            tensor, base = fresh(kind, rank)
            layout = tensor.stride()
            work = dist.all_reduce(tensor, async_op=async_op)
            if async_op:
                work.wait()
            same(compact(tensor), total, f"all_reduce {kind}")
            assert tensor.stride() == layout
            untouched(kind, rank, base)
            tensor, base = fresh(kind, rank)
            work = dist.broadcast(tensor, size - 1, async_op=async_op)
            if async_op:
                work.wait()
            same(compact(tensor), parts[-1], f"broadcast {kind}")
            untouched(kind, rank, base)
        tensor, base = fresh(kind, rank)
        dist.reduce(tensor, 0)
        same(compact(tensor), total if rank == 0 else parts[rank], f"reduce {kind}")
        outputs = [torch.zeros_like(fresh(kind, rank)[0]) for _ in range(size)]
        dist.all_gather(outputs, fresh(kind, rank)[0])
        for r in range(size):
            same(compact(outputs[r]), parts[r], f"all_gather {kind}")
        joined = torch.empty(size, *parts[0].shape, 2)[..., 0]
        dist.all_gather_into_tensor(joined, fresh(kind, rank)[0])
        same(compact(joined), torch.stack(parts), f"all_gather_into_tensor {kind}")
        outputs = [torch.zeros(*parts[0].shape, 2)[..., 1] for _ in range(size)]
        dist.gather(fresh(kind, rank)[0], outputs if rank == 0 else None)
        if rank == 0:
            same(torch.stack(outputs), torch.stack(parts), f"gather {kind}")
        tensor, base = fresh(kind, rank)
        dist.scatter(tensor, [fresh(kind, r + 5)[0] for r in range(size)] if rank == 0 else None)
        same(compact(tensor), everyones(kind, size + 5)[rank + 5] if kind != "mixed" else compact(fresh(kind, rank + 5)[0]), f"scatter {kind}")
        tensor = torch.zeros(*parts[0].shape, 2)[..., 1]
        dist.reduce_scatter(tensor, [fresh(kind, rank)[0] for _ in range(size)])
        same(compact(tensor), total, f"reduce_scatter {kind}")
        tensor = torch.zeros(*parts[0].shape, 2)[..., 1]
        dist.reduce_scatter_tensor(tensor, torch.stack([fresh(kind, rank)[0]] * size).unsqueeze(-1).expand(-1, *parts[0].shape, 2)[..., 0]
                                   if parts[0].dim() == 1 else torch.stack([fresh(kind, rank)[0]] * size))
        same(compact(tensor), total, f"reduce_scatter_tensor {kind}")
        outputs = [torch.zeros(*parts[0].shape, 2)[..., 1] for _ in range(size)]
        dist.all_to_all(outputs, [fresh(kind, rank)[0] + r for r in range(size)])
        same(torch.stack(outputs), torch.stack([part + rank for part in parts]), f"all_to_all {kind}")
    source = torch.arange(2.0 * size * 3).reshape(3, 2 * size).t()
    target = torch.zeros(2 * size, 3, 2)[..., 0]
    dist.all_to_all_single(target, source + rank)
    same(compact(target), torch.cat([source[2 * rank : 2 * rank + 2] + r for r in range(size)]), "all_to_all_single")


def issue_case(rank, size):
    base = torch.tensor([[5, 9], [6, 9]] if rank == 0 else [[0, 7], [0, 7]])
    dist.broadcast(base[:, 0], 0)
    same(base, [[5, 9], [6, 9]] if rank == 0 else [[5, 7], [6, 7]], "broadcast of a column")


def expanded(rank, size):
    same_memory = torch.tensor([float(rank)]).expand(4)
    outputs = [torch.zeros(4) for _ in range(size)]
    dist.all_gather(outputs, same_memory)
    same(torch.stack(outputs), torch.arange(float(size)).reshape(-1, 1).expand(size, 4).contiguous(), "expanded input")
    with raises(ValueError, "share memory"):
        dist.all_reduce(torch.zeros(1).expand(4))
    tensor = torch.ones(1)
    dist.all_reduce(tensor)
    same(tensor, [float(size)], "the group still works")


def conjugated(rank, size):
    """Straight to the backend: dist's own functions refuse conjugated views."""
    outputs = [torch.zeros(2, dtype=torch.complex64) for _ in range(size)]
    dist.group.WORLD.allgather([outputs], [torch.tensor([1 + 2j + rank]).expand(2).conj()]).wait()
    for r, output in enumerate(outputs):
        same(output, torch.full((2,), 1 - 2j + r), "all_gather")


def test_strides():
    for size in (1, 2, 3):
        job(strides, size)
        job(expanded, size)
        job(conjugated, size)
    job(issue_case, 2)


if __name__ == "__main__":
    main([test_strides])
