"""Every collective of the backend: values, dtypes, operations, asynchronous, coalesced, empty and uneven forms."""

import torch
import torch.distributed as dist
from jobs import job, main, raises, repeats, same

INTEGERS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.uint16, torch.uint32, torch.uint64)
FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
MOVED = INTEGERS + FLOATS + (torch.bool, torch.complex64, torch.complex128, torch.float8_e4m3fn)
OPS = dist.ReduceOp
WORLD_SIZES = (1, 2, 3, 4)


def pattern(rank, count, dtype=torch.float32):
    """Small distinct values that every dtype holds."""
    return ((torch.arange(count) * 3 + rank * 7) % 11 + 1).to(dtype)


def bits(tensor):
    return tensor.contiguous().view(-1).view(torch.uint8)


def reduced(size, count, dtype, op):
    """The result by arithmetic in a wide type."""
    wide = torch.float64 if dtype.is_floating_point else torch.int64
    parts = torch.stack([pattern(rank, count, dtype).to(wide) for rank in range(size)])
    if op == OPS.SUM:
        result = parts.sum(0)
    elif op == OPS.AVG:
        result = parts.sum(0)
        result = result / size if wide == torch.float64 else result.div(size, rounding_mode="trunc")
    elif op == OPS.PRODUCT:
        result = parts.prod(0)
    elif op == OPS.MIN:
        result = parts.amin(0)
    elif op == OPS.MAX:
        result = parts.amax(0)
    else:
        result = parts[0]
        for part in parts[1:]:
            result = {OPS.BAND: result & part, OPS.BOR: result | part, OPS.BXOR: result ^ part}[op]
    return result


def reductions(rank, size):
    for count in (1, 7, 1000, 70000):
        for dtype in INTEGERS + FLOATS:
            ops = [OPS.SUM, OPS.AVG, OPS.MIN, OPS.MAX] + ([OPS.PRODUCT] if size <= 2 else [])
            for op in ops + ([OPS.BAND, OPS.BOR, OPS.BXOR] if dtype in INTEGERS else []):
                tensor = pattern(rank, count, dtype)
                dist.all_reduce(tensor, op)
                wanted = reduced(size, count, dtype, op)
                if dtype.is_floating_point:
                    torch.testing.assert_close(tensor.double(), wanted, rtol=1e-2 if dtype.itemsize < 4 else 1e-6, atol=0)
                else:
                    same(tensor.to(torch.int64), wanted.to(dtype).to(torch.int64), f"{dtype} {op} {count}")
    flag = torch.tensor([rank == 0, True, False])
    dist.all_reduce(flag)
    same(flag, [True, True, False], "bool sum is or")
    flag = torch.tensor([rank == 0, True, False])
    dist.all_reduce(flag, OPS.BAND)
    same(flag, [size == 1, True, False], "bool and")
    for dtype in (torch.complex64, torch.complex128):
        number = torch.full((5,), complex(rank, 1), dtype=dtype)
        dist.all_reduce(number)
        same(number, torch.full((5,), complex(size * (size - 1) / 2, size), dtype=dtype), "complex sum")
        pair = [torch.full((2,), complex(rank, 1), dtype=dtype)]
        dist.group.WORLD.allreduce(pair).wait()
        same(pair[0], torch.full((2,), complex(size * (size - 1) / 2, size), dtype=dtype), "complex sum in C++")
    tensor = torch.full((9,), float(rank + 1))
    dist.all_reduce(tensor, dist._make_nccl_premul_sum(0.5))
    same(tensor, torch.full((9,), size * (size + 1) / 4), "premul sum")
    with raises(ValueError, "AVG", "bool"):
        dist.all_reduce(torch.tensor([True]), OPS.AVG)
    with raises(ValueError, "BAND", "non-integral"):
        dist.all_reduce(torch.ones(2), OPS.BAND)
    with raises(ValueError, "complex"):
        dist.group.WORLD.allreduce(torch.ones(2, dtype=torch.complex64), OPS.MAX).wait()
    with raises(TypeError, "Float8"):
        dist.all_reduce(torch.ones(2).to(torch.float8_e4m3fn))


def movement(rank, size):
    for dtype in MOVED:
        mine = pattern(rank, 12, dtype).reshape(3, 4)
        everyones = [pattern(r, 12, dtype).reshape(3, 4) for r in range(size)]
        for root in range(size):
            tensor = mine.clone()
            dist.broadcast(tensor, root)
            same(bits(tensor), bits(everyones[root]), f"broadcast {dtype}")
        outputs = [torch.empty_like(mine) for _ in range(size)]
        dist.all_gather(outputs, mine)
        for r in range(size):
            same(bits(outputs[r]), bits(everyones[r]), f"all_gather {dtype}")
        joined, stacked = torch.empty(3 * size, 4, dtype=dtype), torch.empty(size, 3, 4, dtype=dtype)
        dist.all_gather_into_tensor(joined, mine)
        dist.all_gather_into_tensor(stacked, mine)
        wanted = torch.cat([bits(t) for t in everyones])
        same(bits(joined), wanted, f"all_gather_into_tensor {dtype}")
        same(bits(stacked), wanted, f"stacked {dtype}")
        root = size - 1
        outputs = [torch.empty_like(mine) for _ in range(size)] if rank == root else None
        dist.gather(mine, outputs, root)
        if rank == root:
            same(torch.cat([bits(t) for t in outputs]), wanted, f"gather {dtype}")
        tensor = torch.empty_like(mine)
        dist.scatter(tensor, everyones if rank == root else None, root)
        same(bits(tensor), bits(mine), f"scatter {dtype}")


def reduce_to_one(rank, size):
    for root in range(size):
        tensor = torch.full((6,), float(rank + 1))
        dist.reduce(tensor, root)
        same(tensor, torch.full((6,), size * (size + 1) / 2 if rank == root else rank + 1.0), "reduce leaves the others alone")
    for count in (4, 5000):
        inputs = [torch.full((count,), float(rank + 10 * r)) for r in range(size)]
        output = torch.empty(count)
        wanted = torch.full((count,), size * (size - 1) / 2 + 10.0 * rank * size)
        dist.reduce_scatter(output, inputs)
        same(output, wanted, "reduce_scatter")
        output = torch.empty(count)
        dist.reduce_scatter_tensor(output, torch.cat(inputs))
        same(output, wanted, "reduce_scatter_tensor")
        dist.reduce_scatter_tensor(output, torch.cat(inputs), OPS.AVG)
        same(output, wanted / size, "average")
    inputs = [torch.full((r + 1,), float(rank)) for r in range(size)]
    output = torch.empty(rank + 1)
    dist.reduce_scatter(output, inputs)
    same(output, torch.full((rank + 1,), size * (size - 1) / 2), "uneven reduce_scatter")


def exchanges(rank, size):
    source = torch.arange(3 * size) + 100 * rank
    target = torch.empty_like(source)
    dist.all_to_all_single(target, source)
    same(target, torch.cat([torch.arange(3 * rank, 3 * rank + 3) + 100 * r for r in range(size)]), "even")
    # Rank r sends r + s elements to rank s.
    sent = [torch.full((rank + s, 2), float(10 * rank + s)) for s in range(size)]
    got = torch.empty(sum(rank + s for s in range(size)), 2)
    splits = [rank + s for s in range(size)]
    dist.all_to_all_single(got, torch.cat(sent), splits, splits)
    wanted = [torch.full((rank + s, 2), float(10 * s + rank)) for s in range(size)]
    same(got, torch.cat(wanted), "uneven")
    lists = [torch.empty(rank + s, 2) for s in range(size)]
    work = dist.all_to_all(lists, sent, async_op=True)
    work.wait()
    for s in range(size):
        same(lists[s], wanted[s], "all_to_all")
    with raises((ValueError, RuntimeError), "divide equally"):
        dist.all_to_all_single(torch.empty(size + 1), torch.empty(size + 1), group=None) if size > 1 else (_ for _ in ()).throw(
            ValueError("divide equally")
        )
    outputs = [torch.empty(r + 1, dtype=torch.int64) for r in range(size)]
    dist.all_gather(outputs, torch.full((rank + 1,), rank))
    for r in range(size):
        same(outputs[r], torch.full((r + 1,), r), "uneven all_gather")


def in_place_exchange(rank, size):
    """Row 22: input and output in the same memory, ranks without anything for each other, and parts of a list that change places."""
    counts = [[0, 2, 0], [2, 0, 1], [0, 1, 0]][rank]
    for _ in range(repeats(1000)):
        tensor = torch.tensor([[10, 11], [20, 21, 22], [30]][rank], dtype=torch.int32)
        dist.all_to_all_single(tensor, tensor, counts, counts)
        same(tensor, [[20, 21], [10, 11, 30], [22]][rank], "in place with zero counts")
    for _ in range(10):
        tensor, right = torch.full((size * 100_000,), float(rank)), torch.arange(float(size)).repeat_interleave(100_000)
        dist.all_to_all_single(tensor, tensor, [100_000] * size, [100_000] * size, async_op=True).wait()
        same(tensor, right, "in place with splits")
        tensor = torch.full((size * 100_000,), float(rank))
        dist.all_to_all_single(tensor, tensor)
        same(tensor, right, "in place")
        tensor = torch.full((size * 100_000,), float(rank))
        parts = list(tensor.split(100_000))
        dist.all_to_all(parts[::-1], parts)
        same(tensor, right.flip(0).contiguous(), "a list that shares memory with the other in reverse")


def coalesced(rank, size):
    tensors = [torch.full((n,), float(rank)) for n in (1, 100, 30000)]
    dist.all_reduce_coalesced(tensors)
    for tensor in tensors:
        same(tensor, torch.full_like(tensor, size * (size - 1) / 2), "all_reduce_coalesced")
    future = dist.all_reduce_coalesced(tensors, async_op=True)
    same(future.wait()[2], torch.full((30000,), size * size * (size - 1) / 2), "its future")
    inputs, outputs = [torch.full((4,), rank), torch.full((2,), -rank)], [torch.empty(4 * size), torch.empty(2 * size)]
    outputs = [o.to(torch.int64) for o in outputs]
    with dist._coalescing_manager(async_ops=True) as manager:
        for output, tensor in zip(outputs, inputs):
            dist.all_gather_into_tensor(output, tensor)
    manager.wait()
    same(outputs[0], torch.arange(size).repeat_interleave(4), "coalesced all_gather")
    same(outputs[1], -torch.arange(size).repeat_interleave(2), "coalesced all_gather")
    inputs, outputs = [torch.full((3 * size,), float(rank)), torch.full((size,), 1.0)], [torch.empty(3), torch.empty(1)]
    with dist._coalescing_manager(async_ops=True) as manager:
        for output, tensor in zip(outputs, inputs):
            dist.reduce_scatter_tensor(output, tensor)
    manager.wait()
    same(outputs[0], torch.full((3,), size * (size - 1) / 2), "coalesced reduce_scatter")
    same(outputs[1], torch.full((1,), float(size)), "coalesced reduce_scatter")
    lists = [[torch.empty(2), torch.empty(3)] for _ in range(size)]
    dist.all_gather_coalesced(lists, [torch.full((2,), float(rank)), torch.full((3,), -float(rank))])
    for r in range(size):
        same(lists[r][1], torch.full((3,), -float(r)), "all_gather_coalesced")


def empty(rank, size):
    """Row 20: nothing to move is a success, and the next call is right."""
    shape = (1, 0, 2)
    nothing = torch.empty(shape)
    for op in (OPS.SUM, OPS.MAX):
        dist.all_reduce(nothing, op)
    dist.broadcast(nothing, 0)
    dist.reduce(nothing, 0)
    dist.all_gather([torch.empty(shape) for _ in range(size)], nothing)
    dist.all_gather_into_tensor(torch.empty(size, 0, 2), nothing)
    dist.reduce_scatter(torch.empty(shape), [torch.empty(shape) for _ in range(size)])
    dist.reduce_scatter_tensor(torch.empty(shape), torch.empty(size, 0, 2))
    dist.gather(nothing, [torch.empty(shape) for _ in range(size)] if rank == 0 else None)
    dist.scatter(nothing, [torch.empty(shape) for _ in range(size)] if rank == 0 else None)
    dist.all_to_all_single(torch.empty(0, 2), torch.empty(0, 2))
    dist.all_to_all_single(torch.empty(0, 2), torch.empty(0, 2), [0] * size, [0] * size)
    dist.all_reduce(nothing, async_op=True).wait()
    if size > 1:
        peer = rank ^ 1
        if peer < size:
            work = dist.isend(nothing, peer)
            dist.recv(torch.empty(shape), peer)
            work.wait()
    assert nothing.shape == shape
    one = torch.ones(1)
    dist.all_reduce(one)
    same(one, [float(size)], "after the empty ones")


def special_tensors(rank, size):
    """Scalars, parameters, inference tensors, views under autograd."""
    scalar = torch.tensor(float(rank))
    dist.all_reduce(scalar)
    same(scalar, torch.tensor(size * (size - 1) / 2), "scalar")
    parameter = torch.nn.Parameter(torch.full((3, 2), float(rank)))
    with torch.no_grad():
        dist.all_reduce(parameter)
    same(parameter.data, torch.full((3, 2), size * (size - 1) / 2), "parameter")
    with torch.inference_mode():
        tensor = torch.full((4, 4), float(rank))
        dist.all_reduce(tensor.t()[1:3])
        same(tensor[:, 1:3], torch.full((4, 2), size * (size - 1) / 2), "inference")
    base = torch.zeros(size, 4, requires_grad=True) * 1
    dist.all_gather(list(base.split(1)), torch.full((1, 4), float(rank)))
    same(base.detach(), torch.arange(float(size)).reshape(-1, 1).expand(size, 4).contiguous(), "views under autograd")


def point_to_point(rank, size):
    right, left = (rank + 1) % size, (rank - 1) % size
    for count in (1, 1000, 3_000_000):
        work = dist.isend(torch.full((count,), float(rank)), right, tag=5)
        tensor = torch.empty(count)
        dist.recv(tensor, left, tag=5)
        same(tensor, torch.full((count,), float(left)), "ring")
        work.wait()
    # Tags choose among messages, whatever their order.
    dist.send(torch.tensor([1.0]), right, tag=1)
    dist.send(torch.tensor([2.0]), right, tag=2)
    second, first = torch.empty(1), torch.empty(1)
    dist.recv(second, left, tag=2)
    dist.recv(first, left, tag=1)
    same(torch.cat([first, second]), [1.0, 2.0], "tags")
    if rank == 0:
        sources = {dist.recv(tensor := torch.empty(2), tag=9): tensor[0].item() for _ in range(size - 1)}
        assert sources == {r: float(r) for r in range(1, size)}, sources
    else:
        dist.send(torch.full((2,), float(rank)), 0, tag=9)
    for peer in (right, left) if size == 2 else ():  # row 17: both send before they receive
        dist.send(torch.full((2 << 20,), float(rank)), peer)
        dist.recv(tensor := torch.empty(2 << 20), peer)
        same(tensor, torch.full((2 << 20,), float(peer)), "both send first")
    tensor = torch.empty(4)
    for work in dist.batch_isend_irecv([dist.P2POp(dist.isend, torch.full((4,), float(rank)), right), dist.P2POp(dist.irecv, tensor, left)]):
        work.wait()
    same(tensor, torch.full((4,), float(left)), "batch")
    strided = torch.zeros(4, 2)
    work = dist.isend(torch.arange(8.0).reshape(4, 2)[:, 1], right)
    dist.recv(strided[:, 0], left)
    work.wait()
    same(strided, [[1.0, 0], [3, 0], [5, 0], [7, 0]], "strided")
    with raises(ValueError, "tag"):
        dist.send(torch.ones(1), right, tag=1 << 30)


def test_reductions():
    for size in WORLD_SIZES:
        job(reductions, size)


def test_movement():
    for size in WORLD_SIZES:
        job(movement, size)
        job(reduce_to_one, size)
        job(exchanges, size)
    job(in_place_exchange, 3)


def test_forms():
    for size in WORLD_SIZES:
        job(coalesced, size)
        job(special_tensors, size)
    for size in (1, 2, 3):
        job(empty, size)


def test_point_to_point():
    for size in (2, 3, 4):
        job(point_to_point, size)


if __name__ == "__main__":
    main([test_reductions, test_movement, test_forms, test_point_to_point])
