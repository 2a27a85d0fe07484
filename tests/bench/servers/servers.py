#!/usr/bin/env python3
"""Hosts with a rank each and hosts with a server each, on links of one rate: allreduce by servers, by sharded and as the library chooses, in
alternation in one run.

servers.py --build BUILD [--rate RATE] [--ranks N,...] [--bytes BYTES] [--rounds N]: each line has the microseconds of a call, the least of
the rounds' medians, and how often servers do what sharded does in the time that it takes. Needs root, or a user namespace.
"""
import argparse
import json
import os
import sys
import tempfile

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--build", default="build/release")
parser.add_argument("--rate", default="1gbit")
parser.add_argument("--ranks", default="2,4")
parser.add_argument("--bytes", type=int, default=25 << 20)
parser.add_argument("--rounds", type=int, default=3)
options = parser.parse_args()
os.environ["SMDDP_BUILD_DIR"] = options.build
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "world"))

import hosts  # noqa: E402
from rank_job import Job  # noqa: E402
from smddp_test import BENCH  # noqa: E402

WAYS = ("sharded", "servers", "none")


def measure(network, ranks):
    """By way, the median time of a call, µs."""
    with tempfile.NamedTemporaryFile() as file:
        command = [BENCH, "allreduce", "-b", str(options.bytes), "-e", str(options.bytes), "-n", "5", "-w", "1", "-c", "0", "--algorithm", ",".join(WAYS),
                   "--json", file.name]
        with Job(ranks, *command, wrap=network.wrap, address="10.77.0.1", servers=ranks) as job:
            if set(job.wait(300).values()) != {0}:
                sys.exit(job.report())
        return [result["median_us"] for result in json.load(file)["results"]]


problem = hosts.why_not()
if problem:
    sys.exit(problem)
print(f"{'ranks':>6} {'servers':>8} " + " ".join(f"{way:>12}" for way in (*WAYS[:2], "choice")) + f" {'servers are':>12}")
for ranks in map(int, options.ranks.split(",")):
    with hosts.Hosts(2 * ranks) as network:
        for host in range(2 * ranks):
            network.limit(host, options.rate)
        rounds = [measure(network, ranks) for _ in range(options.rounds)]
    best = [min(times) for times in zip(*rounds)]
    print(f"{ranks:>6} {ranks:>8} " + " ".join(f"{time:>12.0f}" for time in best) + f" {best[0] / best[1]:>11.2f}x", flush=True)
