"""One step of training, and how long it takes: with communication, without it, alone and beside independent processes."""

import contextlib
import statistics
import time

import torch
import torch.distributed as dist


def build_model(name, channels, classes, device):
    import timm

    model = timm.create_model(name, num_classes=classes, in_chans=channels)
    # timm's first weights of the classifier are for a thousand classes; with ten the loss would start at 5 instead of 2.3.
    torch.nn.init.normal_(model.get_classifier().weight, std=0.01)
    return model.to(device=device, memory_format=torch.channels_last)


def wrap(model, device, group=None):
    """The model under DistributedDataParallel."""
    ids = [device.index] if device.type == "cuda" else None
    return torch.nn.parallel.DistributedDataParallel(model, device_ids=ids, process_group=group, gradient_as_bucket_view=True)


class Trainer:
    """A model with its optimizer. Whether it communicates is the model's business."""

    def __init__(self, model, learning_rate, amp=False):
        self.model = model
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate, weight_decay=0.01, fused=True)
        self._loss = torch.nn.CrossEntropyLoss()
        self._amp = amp

    def forward(self, images):
        with torch.autocast(images.device.type, torch.bfloat16, enabled=self._amp):
            return self.model(images)

    def step(self, images, labels):
        """One step; returns the loss."""
        self.model.train()
        self.optimizer.zero_grad(set_to_none=True)
        loss = self._loss(self.forward(images).float(), labels)
        loss.backward()
        self.optimizer.step()
        return loss.detach()


def synchronize(device):
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def time_block(trainer, batch, steps, device, sync=True):
    """Seconds a step, over a block of steps. sync: False trains inside no_sync()."""
    context = contextlib.nullcontext() if sync else trainer.model.no_sync()
    synchronize(device)
    start = time.perf_counter()
    with context:
        for _ in range(steps):
            trainer.step(*batch)
    synchronize(device)
    return (time.perf_counter() - start) / steps


def slowest(seconds, group=None):
    """The largest of the ranks' times: what the step takes in the job."""
    longest = torch.tensor(seconds, dtype=torch.float64)
    dist.all_reduce(longest, dist.ReduceOp.MAX, group=group)
    return longest.item()


def spread(values):
    """Median, minimum and maximum."""
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}


def measure(make_trainer, make_single, batch, blocks, steps, device):
    """Times of one step in alternating blocks: the distributed model with and without communication, and independent models on all
    ranks at once; then one rank alone. Returns medians in seconds."""
    trainer, single = make_trainer(), make_single()
    for warm in (trainer, single):
        time_block(warm, batch, 2, device)
    times = {"ddp": [], "no_sync": [], "independent": []}
    for _ in range(blocks):
        dist.barrier()
        times["ddp"].append(slowest(time_block(trainer, batch, steps, device)))
        time_block(trainer, batch, 1, device, sync=False)  # the first one still shares the batch-norm buffers
        times["no_sync"].append(slowest(time_block(trainer, batch, steps, device, sync=False)))
        dist.barrier()
        times["independent"].append(slowest(time_block(single, batch, steps, device)))
    dist.barrier()
    alone = torch.zeros((), dtype=torch.float64)
    if dist.get_rank() == 0:
        alone.fill_(statistics.median(time_block(single, batch, steps, device) for _ in range(blocks)))
    dist.broadcast(alone, 0)
    return {name: statistics.median(values) for name, values in times.items()} | {"alone": alone.item()}


def leave():
    """Ends the communication of the job. Gloo's threads need the interpreter's lock to give back the tensors of their last operation, and its
    destructor, which has that lock, waits for them: so they get a moment first."""
    time.sleep(0.1)
    dist.destroy_process_group()
