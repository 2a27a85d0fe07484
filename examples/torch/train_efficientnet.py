"""Trains EfficientNet with DistributedDataParallel. The backend is the only thing that --backend changes.

    smddprun -n 2 python train_efficientnet.py --backend smddp
    torchrun --nproc-per-node 2 train_efficientnet.py --backend gloo

The last line of the output is JSON: images/s of all ranks, step time, exposed communication (a step with communication less a step
inside no_sync) and scaling efficiency (against one rank alone, and against as many independent processes)."""

import argparse
import copy
import json
import os
import sys
import time
from datetime import timedelta

import data
import steps as training
import torch
import torch.distributed as dist


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--backend", choices=("smddp", "gloo", "nccl"), default="smddp")
    parser.add_argument("--data", default=data.DEFAULT_DATA, help="folder of class folders, or of Fashion-MNIST's IDX files")
    parser.add_argument("--model", choices=("efficientnet_b0", "efficientnet_b4"), default="efficientnet_b0")
    parser.add_argument("--image-size", type=int, default=32)
    parser.add_argument("--batch", type=int, default=32, help="images per rank and step")
    parser.add_argument("--epochs", type=int, default=0, help="0: as many as --steps takes")
    parser.add_argument("--steps", type=int, default=300, help="steps in all; 0: as many as --epochs has")
    parser.add_argument("--workers", type=int, default=0, help="loader processes per rank; -1, and the most: allowed CPUs / ranks")
    parser.add_argument("--learning-rate", type=float, default=2e-3)
    parser.add_argument("--amp", action="store_true", help="bfloat16 autocast")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--measure-blocks", type=int, default=5, help="blocks of the measurement at the end; 0: none")
    parser.add_argument("--measure-steps", type=int, default=3, help="steps of one block")
    parser.add_argument("--require-loss", type=float, help="fail unless the mean loss of the last 20 steps is below")
    parser.add_argument("--require-accuracy", type=float, help="fail unless the test accuracy in %% is at least this")
    options = parser.parse_args()
    if options.steps <= 0 and options.epochs <= 0:
        parser.error("give --steps or --epochs")
    return options


def start(options):
    """Joins the job; returns the device of this rank."""
    if options.backend == "smddp":
        import smdistributed.dataparallel.torch.torch_smddp  # noqa: F401
    device = torch.device("cpu")
    if options.device == "cuda":
        device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", 0)))
        torch.cuda.set_device(device)
    dist.init_process_group(options.backend, timeout=timedelta(minutes=10))
    torch.manual_seed(options.seed)
    limit_workers(options)
    return device


def limit_workers(options):
    """No more loader processes than CPUs: this rank's part of those that it may use. With less than one a rank, the rank itself loads."""
    cpus, ranks = len(os.sched_getaffinity(0)), int(os.environ.get("LOCAL_WORLD_SIZE", dist.get_world_size()))
    allowed = cpus // ranks
    if 0 <= options.workers <= allowed:
        return
    if dist.get_rank() == 0:
        print(f"--workers {options.workers}: {allowed} per rank are used, as ranks: {ranks}, CPUs that they may use: {cpus}", flush=True)
    options.workers = allowed


def progress(total):
    """A progress bar on rank 0; in a file, a line now and then."""
    from tqdm import tqdm

    off = dist.get_rank() != 0
    interval = 0.5 if sys.stderr.isatty() else 15
    return tqdm(total=total, unit="step", disable=off, mininterval=interval, dynamic_ncols=True)


def evaluate(trainer, images, device, batch, workers, seed):
    """Accuracy in percent on the test set, all ranks together."""
    loader, _ = data.loader(images.test, dist.get_rank(), dist.get_world_size(), batch, workers, False, seed)
    trainer.model.eval()
    counts = torch.zeros(2, dtype=torch.int64)
    with torch.inference_mode():
        for pictures, labels in loader:
            guesses = trainer.forward(data.prepare(pictures, device, False)).argmax(1).cpu()
            counts += torch.tensor([(guesses == labels).sum(), len(labels)])
    counts = counts.to(device)
    dist.all_reduce(counts)
    return 100.0 * counts[0].item() / counts[1].item()


def train(trainer, images, options, device):
    """The training itself; returns the loss of each step, accuracy after each epoch and images/s of the last one."""
    size, rank = dist.get_world_size(), dist.get_rank()
    loader, sampler = data.loader(images.train, rank, size, options.batch, options.workers, True, options.seed)
    total = options.steps or options.epochs * len(loader)
    schedule = torch.optim.lr_scheduler.OneCycleLR(trainer.optimizer, options.learning_rate, total, pct_start=0.2)
    losses, epochs, done = [], [], 0
    bar = progress(total)
    while done < total:
        sampler.set_epoch(len(epochs))
        begin, first = time.perf_counter(), done
        for pictures, labels in loader:
            loss = trainer.step(data.prepare(pictures, device, True), labels.to(device))
            dist.all_reduce(loss)
            losses.append(loss.item() / size)
            schedule.step()
            done += 1
            bar.set_postfix(loss=f"{losses[-1]:.3f}", refresh=False)
            bar.update()
            if done == total:
                break
        seconds = time.perf_counter() - begin
        accuracy = evaluate(trainer, images, device, options.batch * 4, options.workers, options.seed)
        mean = sum(losses[first:]) / (done - first)
        epochs.append((mean, accuracy, (done - first) * options.batch * size / seconds))
        if rank == 0:
            bar.write(
                f"epoch {len(epochs)}: {done - first} steps, loss {mean:.3f}, test accuracy {accuracy:.2f} %, "
                f"{epochs[-1][2]:.1f} images/s on {size} ranks",
                file=sys.stdout,
            )
    bar.close()
    return losses, epochs


def report(times, options):
    """What the measured times say, ready for JSON."""
    size = dist.get_world_size()
    rate = {name: options.batch / seconds for name, seconds in times.items()}
    return {
        "images_per_second": round(size * rate["ddp"], 2),
        "step_ms": round(1e3 * times["ddp"], 2),
        "no_sync_step_ms": round(1e3 * times["no_sync"], 2),
        "exposed_communication_ms": round(1e3 * (times["ddp"] - times["no_sync"]), 2),
        "one_rank_images_per_second": round(rate["alone"], 2),
        "independent_images_per_second": round(size * rate["independent"], 2),
        "scaling_efficiency": round(rate["ddp"] / rate["alone"], 4),
        "scaling_ceiling": round(rate["independent"] / rate["alone"], 4),
    }


def main():
    options = arguments()
    images = data.Images(options.data, options.image_size)
    images.require(int(os.environ.get("WORLD_SIZE", 1)), options.batch)
    device = start(options)
    model = training.build_model(options.model, images.channels, images.classes, device)
    trainer = training.Trainer(training.wrap(model, device), options.learning_rate, options.amp)
    losses, epochs = train(trainer, images, options, device)
    last = sum(losses[-20:]) / len(losses[-20:])
    result = {
        "backend": options.backend,
        "model": options.model,
        "ranks": dist.get_world_size(),
        "batch_per_rank": options.batch,
        "steps": len(losses),
        "loss_last_20": round(last, 4),
        "test_accuracy": round(epochs[-1][1], 2),
        "epoch_images_per_second": round(epochs[-1][2], 2),
    }
    if options.measure_blocks:
        pictures, labels = next(iter(data.loader(images.train, dist.get_rank(), dist.get_world_size(), options.batch, 0, True, 0)[0]))
        batch = (data.prepare(pictures, device, True), labels.to(device))
        single = copy.deepcopy(trainer.model.module)
        rate, amp = options.learning_rate, options.amp
        times = training.measure(
            lambda: trainer, lambda: training.Trainer(single, rate, amp), batch, options.measure_blocks, options.measure_steps, device
        )
        result |= report(times, options)
    failed = []
    if options.require_loss is not None and not last < options.require_loss:
        failed.append(f"the mean loss of the last 20 steps is {last:.3f}, not below {options.require_loss}")
    if options.require_accuracy is not None and not epochs[-1][1] >= options.require_accuracy:
        failed.append(f"the test accuracy is {epochs[-1][1]:.2f} %, not at least {options.require_accuracy} %")
    if dist.get_rank() == 0:
        for line in failed:
            print("FAILED:", line)
        print(json.dumps(result), flush=True)
    training.leave()
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
