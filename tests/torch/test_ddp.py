"""DistributedDataParallel in all its modes: weights equal on all ranks, and equal to gloo's."""

import io
import itertools
import os

import torch
import torch.distributed as dist
from jobs import job, main, same
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook
from torch.distributed.algorithms.join import Join
from torch.nn.parallel import DistributedDataParallel as DDP


class Net(torch.nn.Module):
    """Convolution with batch norm (buffers), and a branch that a step may leave out."""

    def __init__(self):
        super().__init__()
        self.head = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3, bias=False), torch.nn.BatchNorm2d(8), torch.nn.ReLU())
        self.wide = torch.nn.Linear(8 * 36, 600)
        self.branch = torch.nn.Linear(600, 600)
        self.tail = torch.nn.Linear(600, 5)

    def forward(self, images, use_branch=True):
        hidden = torch.relu(self.wide(self.head(images).flatten(1)))
        if use_branch:
            hidden = hidden + torch.relu(self.branch(hidden))
        return self.tail(hidden)


def batches(rank, count, size=8):
    generator = torch.Generator().manual_seed(1000 + rank)
    for _ in range(count):
        yield torch.randn(size, 3, 8, 8, generator=generator), torch.randint(0, 5, (size,), generator=generator)


def new_model(**options):
    torch.manual_seed(3)
    return DDP(Net(), bucket_cap_mb=0.4, **options)


def step(model, optimizer, images, labels, **forward):
    loss = torch.nn.functional.cross_entropy(model(images, **forward), labels)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()


def assert_ranks_equal(model, size):
    """Every parameter has the same bits on every rank; buffers are rank 0's at the next forward pass."""
    for name, tensor in model.module.named_parameters():
        copies = [torch.empty_like(tensor) for _ in range(size)]
        dist.all_gather(copies, tensor.detach())
        for rank in range(1, size):
            same(copies[rank], copies[0], f"{name} on rank {rank}")


def flat(tensors):
    return torch.cat([tensor.detach().reshape(-1) for tensor in tensors])


def plain_training(rank, size, path):
    """20 steps; leaves the first gradients and the last weights at path."""
    model = new_model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    first = None
    for images, labels in batches(rank, 20):
        if first is None:
            torch.nn.functional.cross_entropy(model(images), labels).backward()
            first = flat(p.grad for p in model.parameters())
            optimizer.zero_grad()
        step(model, optimizer, images, labels)
    assert_ranks_equal(model, size)
    if rank == 0:
        torch.save({"gradients": first, "weights": flat(model.parameters())}, path)


def test_against_gloo(tmp="/tmp"):
    for size in (2, 3, 4):
        results = {}
        for backend in ("gloo", "smddp"):
            path = os.path.join(tmp, f"smddp_test_ddp_{os.getpid()}_{backend}.pt")
            try:
                job(plain_training, size, path, backend=backend)
                results[backend] = torch.load(path)
            finally:
                if os.path.exists(path):
                    os.unlink(path)
        if size == 2:
            same(results["smddp"]["weights"], results["gloo"]["weights"], "weights after 20 steps, smddp and gloo")
        ours, theirs = results["smddp"]["gradients"], results["gloo"]["gradients"]
        difference = ((ours - theirs).norm() / theirs.norm()).item()
        assert difference <= 1e-6, f"first gradients on {size} ranks differ from gloo's by {difference}"


def modes(rank, size):
    choices = itertools.product((False, True), (False, True), (False, True))
    for unused, bucket_view, static in choices:
        if unused and static:
            continue
        model = new_model(find_unused_parameters=unused, gradient_as_bucket_view=bucket_view, static_graph=static)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for number, (images, labels) in enumerate(batches(rank, 6)):
            if number % 3 == 2:  # accumulate over two batches
                with model.no_sync():
                    torch.nn.functional.cross_entropy(model(images), labels).backward()
            step(model, optimizer, images, labels, use_branch=not (unused and number % 2 == rank % 2))
        assert_ranks_equal(model, size)


def no_sync_adds(rank, size):
    model = new_model()
    (images, labels), (more_images, more_labels) = batches(rank, 2)
    with model.no_sync():
        torch.nn.functional.cross_entropy(model(images), labels).backward()
    torch.nn.functional.cross_entropy(model(more_images), more_labels).backward()
    mean = flat(p.grad for p in model.parameters())
    copies = [torch.empty_like(mean) for _ in range(size)]
    dist.all_gather(copies, mean)
    for copy in copies[1:]:
        same(copy, copies[0], "gradients after no_sync")


def hooks(rank, size):
    chosen = {
        "allreduce": (None, default_hooks.allreduce_hook),
        "fp16": (None, default_hooks.fp16_compress_hook),
        "fp16 powerSGD": (
            powerSGD_hook.PowerSGDState(None, matrix_approximation_rank=2, start_powerSGD_iter=2, min_compression_rate=0.5),
            default_hooks.fp16_compress_wrapper(powerSGD_hook.powerSGD_hook),
        ),
        "powerSGD": (
            powerSGD_hook.PowerSGDState(None, matrix_approximation_rank=2, start_powerSGD_iter=2, min_compression_rate=0.5),
            powerSGD_hook.powerSGD_hook,
        ),
    }
    if torch.version.cuda is not None:
        chosen["bf16"] = (None, default_hooks.bf16_compress_hook)
    for name, (state, hook) in chosen.items():
        model = new_model()
        model.register_comm_hook(state, hook)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for images, labels in batches(rank, 8):
            step(model, optimizer, images, labels)
        assert_ranks_equal(model, size)
        assert torch.isfinite(flat(model.parameters())).all(), name
    for built_in in (dist.BuiltinCommHookType.ALLREDUCE, dist.BuiltinCommHookType.FP16_COMPRESS):
        model = new_model()
        model._register_builtin_comm_hook(built_in)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for images, labels in batches(rank, 4):
            step(model, optimizer, images, labels)
        assert_ranks_equal(model, size)


def join(rank, size):
    """Uneven inputs: rank r has r + 2 batches."""
    model = new_model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    with Join([model]):
        for images, labels in batches(rank, rank + 2):
            step(model, optimizer, images, labels)
    assert_ranks_equal(model, size)


class TwoParameters(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = torch.nn.Parameter(torch.zeros(1)), torch.nn.Parameter(torch.zeros(1))

    def forward(self, a, b):
        return self.a * a + (self.b * b if b is not None else 0)


def unused_parameter(rank, size):
    """Row 77: a gradient that one rank lacks counts as zero."""
    model = DDP(TwoParameters(), find_unused_parameters=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for number in range(10):
        optimizer.zero_grad()
        model(2.0 if rank == 0 else 4.0, 4.0 if rank == 0 else None).sum().backward()
        if number == 0:
            same(model.module.a.grad, [3.0], "a")
            same(model.module.b.grad, [2.0], "b")
        optimizer.step()
    assert_ranks_equal(model, size)


def unused_without_search(rank, size):
    """Row 77: without find_unused_parameters it is an error on both ranks, not a hang."""
    model = DDP(TwoParameters())
    try:
        for _ in range(3):
            model(2.0, 4.0 if rank == 0 else None).sum().backward()
    except RuntimeError as error:
        text = str(error)
        assert any(word in text for word in ("not used", "unused", "Timed out", "closed", "MISMATCH", "finished reduction")), text
    else:
        raise AssertionError("no error")
    dist.destroy_process_group()


def checkpoint(rank, size):
    """What a checkpoint brings back is on every rank, through an object broadcast."""
    model = new_model()
    buffer = io.BytesIO()
    torch.save(model.module.state_dict(), buffer)
    box = [buffer.getvalue() if rank == 0 else None]
    dist.broadcast_object_list(box, 0)
    model.module.load_state_dict(torch.load(io.BytesIO(box[0])))
    assert_ranks_equal(model, size)


def test_modes():
    for size in (2, 3):
        job(modes, size)
        job(hooks, size)
        job(join, size)
    job(no_sync_adds, 2)
    job(checkpoint, 2)


def test_unused_parameters():
    job(unused_parameter, 2)
    job(unused_without_search, 2, timeout=5)


if __name__ == "__main__":
    main([test_against_gloo, test_modes, test_unused_parameters])
