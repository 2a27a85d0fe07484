"""Two backends side by side in one run: the same network under DistributedDataParallel over a group of each, blocks of steps in
alternation, so that whatever else the machine does meets both.

    smddprun -n 2 python compare_backends.py
    torchrun --nproc-per-node 2 compare_backends.py --blocks 20

The last line of the output is JSON."""

import argparse
import copy
import json
import os
import statistics
import sys
import time
from datetime import timedelta

import data
import smdistributed.dataparallel.torch.torch_smddp  # noqa: F401
import steps as training
import torch
import torch.distributed as dist

BACKENDS = ("smddp", "gloo")
LATENCY_SIZES = (4, 16 << 20)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default=data.DEFAULT_DATA)
    parser.add_argument("--model", choices=("efficientnet_b0", "efficientnet_b4"), default="efficientnet_b0")
    parser.add_argument("--image-size", type=int, default=32)
    parser.add_argument("--batch", type=int, default=32, help="images per rank and step")
    parser.add_argument("--blocks", type=int, default=12, help="blocks of each backend, with and without communication")
    parser.add_argument("--steps", type=int, default=5, help="steps of one block")
    parser.add_argument("--seconds", type=float, default=170, help="no further round of blocks is begun after this time")
    parser.add_argument("--amp", action="store_true", help="bfloat16 autocast")
    return parser.parse_args()


def time_steps(trainers, groups, batch, options):
    """Seconds a step, in a list for each backend: with communication and inside no_sync()."""
    device = torch.device("cpu")
    times = {name: {"ddp": [], "no_sync": []} for name in trainers}
    for trainer in trainers.values():
        training.time_block(trainer, batch, 2, device)
    begin = time.monotonic()
    for number in range(options.blocks):
        enough = torch.tensor([number > 0 and time.monotonic() - begin > options.seconds], dtype=torch.uint8)
        dist.broadcast(enough, 0)
        if enough.item():
            break
        names = list(trainers) if number % 2 == 0 else list(trainers)[::-1]
        for sync in (True, False):
            for name in names:
                # The first step of a block brings the ranks together, or shares the batch-norm buffers for the last time.
                training.time_block(trainers[name], batch, 1, device, sync)
                seconds = training.time_block(trainers[name], batch, options.steps, device, sync)
                times[name]["ddp" if sync else "no_sync"].append(training.slowest(seconds))
        if dist.get_rank() == 0:
            line = ", ".join(
                f"{name} {1e3 * times[name]['ddp'][-1]:.1f} ms ({1e3 * times[name]['no_sync'][-1]:.1f} without communication)"
                for name in trainers
            )
            print(f"round {number + 1} of {options.blocks}: step {line}", flush=True)
    return times


def all_reduce_seconds(count, group, calls):
    tensor = torch.ones(count)
    for _ in range(max(2, calls // 5)):
        dist.all_reduce(tensor, group=group)
    dist.barrier(group=group)
    start = time.perf_counter()
    for _ in range(calls):
        dist.all_reduce(tensor, group=group)
    return (time.perf_counter() - start) / calls


def latencies(groups, rounds=11):
    """Median microseconds of dist.all_reduce by size in bytes and backend, in alternation."""
    result = {}
    for size in LATENCY_SIZES:
        calls = 500 if size < 4096 else 5
        samples = {name: [] for name in groups}
        for _ in range(rounds):
            for name, group in groups.items():
                samples[name].append(training.slowest(all_reduce_seconds(size // 4, group, calls)))
        result[size] = {name: 1e6 * statistics.median(values) for name, values in samples.items()}
    return result


def summary(times, options):
    """Medians with minimum and maximum, and the ratios of smddp to gloo."""
    images = options.batch * dist.get_world_size()
    result = {"ranks": dist.get_world_size(), "batch_per_rank": options.batch, "blocks": len(times["smddp"]["ddp"])}
    for name, kinds in times.items():
        exposed = [1e3 * (ddp - alone) for ddp, alone in zip(kinds["ddp"], kinds["no_sync"])]
        result[name] = {
            "images_per_second": {k: round(v, 2) for k, v in training.spread([images / s for s in kinds["ddp"]]).items()},
            "step_ms": {k: round(1e3 * v, 2) for k, v in training.spread(kinds["ddp"]).items()},
            "no_sync_step_ms": round(1e3 * statistics.median(kinds["no_sync"]), 2),
            "exposed_communication_ms": {k: round(v, 2) for k, v in training.spread(exposed).items()},
        }
    ours, theirs = (result[name] for name in BACKENDS)
    result["images_per_second_ratio"] = round(ours["images_per_second"]["median"] / theirs["images_per_second"]["median"], 4)
    result["exposed_communication_ratio"] = round(
        ours["exposed_communication_ms"]["median"] / theirs["exposed_communication_ms"]["median"], 4
    )
    return result


def main():
    options = arguments()
    images = data.Images(options.data, options.image_size)
    images.require(int(os.environ.get("WORLD_SIZE", 1)), options.batch)
    dist.init_process_group("smddp", timeout=timedelta(minutes=10))
    torch.manual_seed(1)
    rank, size = dist.get_rank(), dist.get_world_size()
    device = torch.device("cpu")
    groups = {"smddp": dist.group.WORLD, "gloo": dist.new_group(backend="gloo")}
    model = training.build_model(options.model, images.channels, images.classes, device)
    trainers = {
        name: training.Trainer(training.wrap(copy.deepcopy(model), device, group), 2e-3, options.amp) for name, group in groups.items()
    }
    pictures, labels = next(iter(data.loader(images.train, rank, size, options.batch, 0, True, 1)[0]))
    batch = (data.prepare(pictures, device, True), labels)
    result = summary(time_steps(trainers, groups, batch, options), options)
    for bytes_, by_backend in latencies(groups).items():
        result[f"all_reduce_{bytes_}_bytes"] = {name: round(value, 2) for name, value in by_backend.items()} | {
            "gloo_by_smddp": round(by_backend["gloo"] / by_backend["smddp"], 2)
        }
    if rank == 0:
        for name in BACKENDS:
            r = result[name]
            print(
                f"{name:>6}: {r['images_per_second']['median']:.1f} images/s ({r['images_per_second']['min']:.1f} to "
                f"{r['images_per_second']['max']:.1f}), exposed communication {r['exposed_communication_ms']['median']:.1f} ms of "
                f"{r['step_ms']['median']:.1f} ms"
            )
        print(
            f"smddp trains {result['images_per_second_ratio']:.3f} times as many images/s as gloo, with "
            f"{result['exposed_communication_ratio']:.2f} of its exposed communication"
        )
        print(json.dumps(result), flush=True)
    training.leave()
    sys.exit(0)


if __name__ == "__main__":
    main()
