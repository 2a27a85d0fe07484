"""Tensors in memory that peers read in place: the buckets of DistributedDataParallel, and allocate_tensor."""

import os
import tempfile

import torch
import torch.distributed as dist
from jobs import job, main, raises, same
from torch.nn.parallel import DistributedDataParallel as DDP


def group():
    return dist.group.WORLD._get_backend(torch.device("cpu"))


def gradients(model):
    return [parameter.grad for parameter in model.parameters()]


def trained(rank, **options):
    torch.manual_seed(5)
    model = DDP(torch.nn.Sequential(torch.nn.Linear(300, 300), torch.nn.Linear(300, 300)), **options)
    for _ in range(3):
        model.zero_grad()
        model(torch.full((2, 300), rank + 1.0)).sum().backward()
    return model


def buckets_are_read_in_place(rank, size):
    before = group().counter("two_copy"), group().counter("zero_copy")
    views = trained(rank, gradient_as_bucket_view=True)
    in_place = group().counter("zero_copy") - before[1]
    assert in_place >= 3, f"{in_place} operations of 3 steps read the buckets in place"
    copies = trained(rank)
    assert group().counter("zero_copy") - before[1] >= in_place + 3
    os.environ["DDP_DISABLE_COMM_MEM"] = "1"
    plain = trained(rank, gradient_as_bucket_view=True)
    assert group().counter("two_copy") > before[0], "torch's own switch gives private buckets"
    for a, b, c in zip(gradients(views), gradients(copies), gradients(plain)):
        same(a, c, "gradients in shared and private buckets")
        same(b, c, "gradients copied and viewed")


def gradients_outlive_the_group(rank, size):
    model = trained(rank, gradient_as_bucket_view=True)
    before = [gradient.clone() for gradient in gradients(model)]
    dist.destroy_process_group()
    for gradient, wanted in zip(gradients(model), before):
        same(gradient, wanted, "after the end of the group")
        gradient.add_(1)
    del model


def child_does_not_reach_its_parent(rank, size):
    model = trained(rank, gradient_as_bucket_view=True)
    before = [gradient.clone() for gradient in gradients(model)]
    child = os.fork()
    if child == 0:
        code = 1
        try:
            for gradient, wanted in zip(gradients(model), before):
                same(gradient, wanted, "in the child")
                gradient.zero_()
                same(gradient, torch.zeros_like(wanted), "written in the child")
            del model, gradient
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    for gradient, wanted in zip(gradients(model), before):
        same(gradient, wanted, "after the child")
    model(torch.ones(2, 300)).sum().backward()
    dist.barrier()


def by_hand(rank, size):
    for dtype in (torch.float32, torch.bfloat16, torch.uint8, torch.complex64):
        tensor = group().allocate_tensor(100_000, dtype=dtype, device=torch.device("cpu"))
        assert tensor.shape == (100_000,) and tensor.dtype == dtype and tensor.is_contiguous()
        same(tensor, torch.zeros(100_000, dtype=dtype), "fresh memory")
        tensor.fill_(rank + 1)
        dist.all_reduce(tensor)
        same(tensor, torch.full((100_000,), size * (size + 1) // 2, dtype=dtype), "sum")
    assert group().allocate_tensor(0, dtype=torch.float32, device=torch.device("cpu")).numel() == 0
    assert group().supports_tensor_alloc(torch.device("cpu"))
    assert not group().supports_tensor_alloc(torch.device("cuda:0"))
    with raises(ValueError, "size is -1"):
        group().allocate_tensor(-1, dtype=torch.float32, device=torch.device("cpu"))
    with raises(ValueError, "host memory only"):
        group().allocate_tensor(1, dtype=torch.float32, device=torch.device("cuda:0"))
    backend = group()
    dist.destroy_process_group()
    same(tensor, torch.full((100_000,), size * (size + 1) // 2, dtype=dtype), "after the end of the group")
    with raises(dist.DistBackendError, "closed", f"Rank {rank}"):
        backend.allocate_tensor(1, dtype=torch.float32, device=torch.device("cpu"))


def full_heap(rank, size):
    """Where the heap has no room, buckets take private memory, with one warning, and the results are the same."""
    warnings, stderr = tempfile.TemporaryFile(), os.dup(2)
    os.dup2(warnings.fileno(), 2)
    taken = [group().allocate_tensor(1 << 20, dtype=torch.uint8, device=torch.device("cpu")) for _ in range(80)]
    os.dup2(stderr, 2)
    warnings.seek(0)
    text = warnings.read().decode()
    assert text.count("allocate_tensor") == 1 and f"rank {rank}" in text and "SMDDP_HEAP_BYTES" in text, text
    same(taken[-1].fill_(3), torch.full((1 << 20,), 3, dtype=torch.uint8), "private memory")
    before = group().counter("two_copy")
    model = trained(rank, gradient_as_bucket_view=True)
    assert group().counter("two_copy") >= before + 3
    total = torch.cat([gradient.flatten() for gradient in gradients(model)])
    copies = [torch.empty_like(total) for _ in range(size)]
    dist.all_gather(copies, total)
    same(copies[-1], copies[0], "gradients of the ranks")


def test_buckets():
    for size in (2, 3):
        job(buckets_are_read_in_place, size)
    job(gradients_outlive_the_group, 2)
    job(child_does_not_reach_its_parent, 2)


def test_by_hand():
    for size in (1, 2, 3):
        job(by_hand, size)


def test_full_heap():
    os.environ["SMDDP_HEAP_BYTES"] = "64M"
    job(full_heap, 2)
    del os.environ["SMDDP_HEAP_BYTES"]


if __name__ == "__main__":
    main([test_buckets, test_by_hand, test_full_heap])
