#!/usr/bin/env python3
"""Two hosts with two networks of unequal speed between them: allreduce over each alone and over both, in alternation in one run.

rails.py --build BUILD [--rates RATE,RATE] [--sizes BYTES,...] [--rounds N]: each line has the microseconds of a call, the least of the rounds,
and what share of the sum of the two networks' own rates the two together reach. Needs root, or a user namespace.
"""
import argparse
import json
import os
import sys
import tempfile

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--build", default="build/release")
parser.add_argument("--rates", default="400mbit,200mbit")
parser.add_argument("--sizes", default="65536,262144,1048576,4194304,16777216")
parser.add_argument("--rounds", type=int, default=3)
parser.add_argument("--provider", default="")
options = parser.parse_args()
os.environ["SMDDP_BUILD_DIR"] = options.build
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "world"))

import hosts  # noqa: E402
from rank_job import Job  # noqa: E402
from smddp_test import BENCH  # noqa: E402

WAYS = {"first": {"SMDDP_OFI_INTERFACES": "v0"}, "second": {"SMDDP_OFI_INTERFACES": "v1"}, "both": {}}


def measure(network, size, env):
    """Median time of a call, µs."""
    with tempfile.NamedTemporaryFile() as file:
        command = [BENCH, "allreduce", "-b", str(size), "-e", str(size), "-n", str(max(5, min(50, (64 << 20) // size))), "-w", "3", "--json", file.name]
        with Job(2, *command, wrap=network.wrap, address="10.77.0.1", env={"SMDDP_OFI_PROVIDER": options.provider, **env}) as job:
            if job.wait(300) != {0: 0, 1: 0}:
                sys.exit(job.report())
        return json.load(file)["results"][0]["median_us"]


problem = hosts.why_not()
if problem:
    sys.exit(problem)
with hosts.Hosts(2, rails=2) as network:
    for rail, rate in enumerate(options.rates.split(",")):
        for host in (0, 1):
            network.limit(host, rate, rail=rail)
    print(f"{'bytes':>10} " + " ".join(f"{way:>12}" for way in WAYS) + f" {'of the sum':>12}")
    for size in map(int, options.sizes.split(",")):
        best = dict.fromkeys(WAYS, float("inf"))
        for _ in range(options.rounds):
            for way, env in WAYS.items():
                best[way] = min(best[way], measure(network, size, env))
        share = (1 / best["both"]) / (1 / best["first"] + 1 / best["second"])
        print(f"{size:>10} " + " ".join(f"{best[way]:>12.0f}" for way in WAYS) + f" {share:>12.2f}", flush=True)
