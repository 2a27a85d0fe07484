#!/usr/bin/env python3
"""Two hosts with a slow link between them: an asynchronous allreduce under a compute loop that never calls the library.

    tests/bench/overlap/overlap.py --build build/release --rate 1gbit --bytes 26214400 --rounds 7 --percent 50,90,100,150

Each line: the median times, in ms, of the communication alone, of the computation alone and of both together, the last one over the larger
of the first two, and what the communication took of a rank's processors. --percent: how long the computation is, as part of the
communication. Needs root, or a user namespace.
"""
import argparse
import os
import statistics
import sys

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--build", default="build/release")
parser.add_argument("--nodes", default="1+1", help="ranks of each host")
parser.add_argument("--rate", default="1gbit", help="of each host's link in both directions, as tc writes it")
parser.add_argument("--bytes", default="26214400")
parser.add_argument("--rounds", type=int, default=7)
parser.add_argument("--percent", default="50,90,100,150")
parser.add_argument("--provider", default="")
options = parser.parse_args()
os.environ["SMDDP_BUILD_DIR"] = os.path.abspath(options.build)
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "world"))

import hosts  # noqa: E402
from rank_job import Job, program  # noqa: E402

problem = hosts.why_not()
if problem:
    sys.exit(problem)
layout = [host for host, ranks in enumerate(options.nodes.split("+")) for _ in range(int(ranks))]
with hosts.Hosts(max(layout) + 1) as network:
    for host in set(layout):
        network.limit(host, options.rate)
    print(f"{'compute':>10} {'communication':>14} {'computation':>12} {'both':>8} {'ratio':>6} {'cpu':>7}")
    for percent in options.percent.split(","):
        with Job(len(layout), program("overlap"), "measure", options.bytes, str(options.rounds), percent, wrap=lambda rank: network.wrap(layout[rank]),
                 address="10.77.0.1", env={"SMDDP_OFI_PROVIDER": options.provider}) as job:
            if any(job.wait(600).values()):
                sys.exit(job.report())
            ranks = [[[float(word) for word in line.split()[1:]] for line in job.lines(rank)] for rank in job.ranks]
        # Of each round what the slowest rank took; then the medians.
        communication, computation, both, cpu = (1000 * statistics.median(max(figures) for figures in zip(*([row[i] for row in rank] for rank in ranks)))
                                                 for i in range(4))
        print(f"{percent:>9}% {communication:>14.1f} {computation:>12.1f} {both:>8.1f} {both / max(communication, computation):>6.3f} {cpu:>7.1f}", flush=True)
