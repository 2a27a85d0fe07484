"""Times one collective of torch's gloo backend: gloo_bench.py -n RANKS COLLECTIVE SIZES. Rank 0 prints a JSON line per size, measured
as sample.h says; float32, allreduce, broadcast and reduce in place (torch has no other form). Each size is checked once before it is
timed. Needs a Python with torch."""
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import warnings

SAMPLES, WARMUP = 21, 3
UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def size_of(text):
    return int(text[:-1]) * UNITS[text[-1]] if text[-1] in UNITS else int(text)


def calls_per_sample(size):
    for limit, calls in ((4096, 1000), (65536, 200), (1 << 20, 20), (4 << 20, 5), (16 << 20, 2)):
        if size <= limit:
            return calls
    return 1


def collectives(torch, dist, rank, ranks):
    """Name -> (prepare(count) -> call, result, expected): expected is None where this rank gets no result."""
    total = float(ranks * (ranks + 1) // 2)

    def block(count):
        return max(1, count // ranks)  # as nccl-tests do

    def mine(count):
        return torch.full((count,), float(rank + 1))

    def blocks(count):
        return torch.arange(1, ranks + 1, dtype=torch.float32).repeat_interleave(block(count))

    def allreduce(count):
        x = mine(count)
        return lambda: dist.all_reduce(x), x, torch.full_like(x, total), x

    def broadcast(count):
        x = mine(count)
        return lambda: dist.broadcast(x, 0), x, torch.ones_like(x), x

    def reduce(count):
        x = mine(count)
        return lambda: dist.reduce(x, 0), x, torch.full_like(x, total) if rank == 0 else None, x

    def allgather(count):
        x, out = mine(block(count)), torch.empty(block(count) * ranks)
        return lambda: dist.all_gather_into_tensor(out, x), out, blocks(count), None

    def reduce_scatter(count):
        x, out = mine(block(count) * ranks), torch.empty(block(count))
        return lambda: dist.reduce_scatter_tensor(out, x), out, torch.full_like(out, total), None

    def alltoall(count):
        x, out = mine(block(count) * ranks), torch.empty(block(count) * ranks)
        return lambda: dist.all_to_all_single(out, x), out, blocks(count), None

    def gather(count):
        x = mine(block(count))
        out = torch.empty(block(count) * ranks)
        parts = list(out.chunk(ranks)) if rank == 0 else None
        return lambda: dist.gather(x, parts, 0), out, blocks(count) if rank == 0 else None, None

    def scatter(count):
        x, out = mine(block(count) * ranks), torch.empty(block(count))
        parts = list(x.chunk(ranks)) if rank == 0 else None
        return lambda: dist.scatter(out, parts, 0), out, torch.ones_like(out), None

    def barrier(count):
        return dist.barrier, None, None, None

    return {f.__name__: f for f in
            (allreduce, broadcast, reduce, allgather, reduce_scatter, alltoall, gather, scatter, barrier)}


def run_rank(rank, ranks, store, collective, sizes):
    cpus = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cpus[rank % len(cpus)]})
    import torch
    import torch.distributed as dist
    torch.set_num_threads(1)
    warnings.simplefilter("ignore", FutureWarning)
    dist.init_process_group("gloo", init_method="file://" + store, rank=rank, world_size=ranks)
    prepare = collectives(torch, dist, rank, ranks)[collective]
    for size in sizes:
        call, result, expected, in_place = prepare(size // 4)
        call()
        if expected is not None and not torch.equal(result, expected):
            sys.exit(f"gloo_bench: rank {rank}, {collective} of {size} bytes: wrong result {result[:4]}…, not {expected[:4]}…")
        if in_place is not None:
            in_place.zero_()  # else repeated sums in place reach infinity
        calls, seconds = calls_per_sample(size), []
        for _ in range(WARMUP + SAMPLES):
            dist.barrier()
            start = time.perf_counter()
            for _ in range(calls):
                call()
            seconds.append((time.perf_counter() - start) / calls)
        if rank == 0:
            seconds = seconds[WARMUP:]
            print(json.dumps({"bytes": size, "kind": collective, "ranks": ranks, "median_us": statistics.median(seconds) * 1e6,
                              "min_us": min(seconds) * 1e6}), flush=True)
    dist.destroy_process_group()


def main():
    args = sys.argv[1:]
    signal.alarm(int(os.environ.get("SMDDP_BENCH_LIMIT_S", "600")))
    if len(args) == 6 and args[0] == "--rank":
        return run_rank(int(args[1]), int(args[2]), args[3], args[4], [size_of(s) for s in args[5].split(",")])
    if len(args) != 4 or args[0] != "-n":
        sys.exit("usage: gloo_bench.py -n RANKS COLLECTIVE SIZE,SIZE,…")
    with tempfile.TemporaryDirectory() as folder:
        hosts = os.environ.get("SMDDP_BENCH_HOSTS", "-").split(",")  # as place.sh has them
        enter = [[] if host == "-" else ["nsenter", "-t", host, "-n"] for host in hosts]
        ranks = [subprocess.Popen([*enter[r % len(enter)], sys.executable, __file__, "--rank", str(r), args[1], folder + "/store", args[2], args[3]])
                 for r in range(int(args[1]))]
        failed = False
        while any(p.poll() is None for p in ranks):
            if any(p.returncode for p in ranks):
                failed = True
                for p in ranks:
                    if p.poll() is None:
                        p.kill()
            time.sleep(0.05)
        sys.exit(1 if failed or any(p.returncode for p in ranks) else 0)


if __name__ == "__main__":
    main()
