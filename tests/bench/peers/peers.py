#!/usr/bin/env python3
"""Compares SMDDP with the floor and with other libraries in one run: all take turns, round after round. See README.md."""
import argparse
import contextlib
import json
import os
import pathlib
import platform
import signal
import subprocess
import sys
import time

import contestants as cast
import network
import placement
import report
from install import cache_folder

HERE = pathlib.Path(__file__).resolve().parent
COLLECTIVES = ("allreduce", "broadcast", "reduce", "allgather", "reduce_scatter", "alltoall", "gather", "scatter", "barrier")
MORE_ROUNDS = 4    # times as many as asked for, while the CPUs move
FEWEST_ROUNDS = 3  # at one distance, for a table
UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def size(text):
    number, unit = (text[:-1], UNITS[text[-1]]) if text[-1:] in UNITS else (text, 1)
    if not number.isdigit() or int(number) == 0 or int(number) * unit % 8 and int(number) * unit != 4:
        raise argparse.ArgumentTypeError(f"{text!r} is not a size in bytes: 4 or a multiple of 8, as 64, 4K, 1M")
    return int(number) * unit


def rank_count(text):
    if not text.isdigit() or int(text) < 2:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of ranks: 2 or more")
    return int(text)


def collective(text):
    if text not in COLLECTIVES:
        raise argparse.ArgumentTypeError(f"{text!r} is not a collective; there are {', '.join(COLLECTIVES)}")
    return text


def listed(kind):
    return lambda text: [kind(item) for item in text.split(",") if item]


def arguments():
    cache = cache_folder()
    local, between = ([c.name for c in kind.all_contestants()] for kind in (cast, network))
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--ranks", type=listed(rank_count), default=[2], metavar="N,…", help="numbers of ranks (default 2)")
    p.add_argument("--sizes", type=listed(size), default=listed(size)("4,64,4K,64K,1M,4M,16M,64M"), metavar="BYTES,…",
                   help="sizes (default 4,64,4K,64K,1M,4M,16M,64M)")
    p.add_argument("--collectives", type=listed(collective), default=["allreduce"], metavar="NAME,…",
                   help="collectives (default allreduce): " + ", ".join(COLLECTIVES))
    p.add_argument("--rounds", type=int, default=5, metavar="R", help="turns of each contestant (default 5); more while the CPUs' distance from each other changes")
    p.add_argument("--only", type=listed(str), metavar="NAME,…",
                   help=f"contestants: {', '.join(local)}; with --hosts {', '.join(between)}")
    p.add_argument("--skip", type=listed(str), default=[], metavar="NAME,…", help="contestants to leave out")
    p.add_argument("--hosts", action="store_true", help="each rank on a host of its own, network namespaces of this machine, over TCP; as root")
    p.add_argument("--take", choices=("median", "fastest"), default="median",
                   help="of the rounds' medians: their median (default), or the fastest, for a machine with other work")
    p.add_argument("--realtime", action="store_true",
                   help="run all contestants under SCHED_RR, for a machine with other work; needs CAP_SYS_NICE")
    p.add_argument("--limit", type=int, default=60, metavar="S", help="seconds for one turn; then it is ended (default 60)")
    p.add_argument("--build", type=pathlib.Path, default=os.environ.get("SMDDP_BUILD_DIR"), metavar="DIR",
                   help="build tree or prefix of SMDDP (default $SMDDP_BUILD_DIR)")
    p.add_argument("--cache", type=pathlib.Path, default=cache, metavar="DIR", help=f"virtual environments, programs ({cache})")
    p.add_argument("--output", type=pathlib.Path, default=cast.ROOT / "build" / "peers-results",
                   metavar="DIR", help="table.md, results.json and plots (default build/peers-results)")
    p.add_argument("--plot", action="store_true", help="draw plots; installs matplotlib into the cache if needed")
    a = p.parse_args()
    names = between if a.hosts else local
    a.only = a.only or names
    unknown = sorted((set(a.only) | set(a.skip)) - set(names))
    if unknown:
        p.error(f"unknown contestant {', '.join(unknown)}; there are {', '.join(names)}")
    if a.rounds < 1 or a.limit < 1:
        p.error("--rounds and --limit are at least 1")
    return a


def end(process):
    """Ends a turn that is over its limit: launchers pass SIGTERM on to their ranks, what is left gets SIGKILL."""
    for sign in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, sign)
            process.wait(5)
        except (ProcessLookupError, subprocess.TimeoutExpired):
            pass


def realtime():
    os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))


def turn(machine, contestant, ranks, collective, sizes):
    """One turn: (measurements, how it ended). A turn over its limit keeps the sizes it had finished."""
    command, environment = contestant.command(machine, ranks, collective, sizes)
    process = subprocess.Popen(command, env=os.environ | environment | {"SMDDP_BENCH_LIMIT_S": str(machine.limit_s + 10)},
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               start_new_session=True, preexec_fn=realtime if machine.realtime else None)
    ended = "ok"
    try:
        out, err = process.communicate(timeout=machine.limit_s)
        if process.returncode:
            ended = f"exit status {process.returncode}: " + " ".join(err.split())[-300:]
    except subprocess.TimeoutExpired:
        end(process)
        out, ended = process.communicate()[0], f"not finished in {machine.limit_s} s"
    return [json.loads(line) for line in out.splitlines() if line.startswith("{") and line.endswith("}")], ended


def prepared(machine, contestants, names):
    ready, absent = [], {}
    for c in contestants:
        if c.name not in names:
            continue
        try:
            c.version = c.prepare(machine)
            ready.append(c)
        except cast.Unavailable as why:
            absent[c.name] = str(why)
            print(f"{c.name}: left out: {why}", file=sys.stderr)
    return ready, absent


def samples_of(turns):
    """{contestant: {kind: {bytes: [figures of each round]}}}."""
    samples = {}
    for t in turns:
        for m in t["found"]:
            samples.setdefault(t["name"], {}).setdefault(m["kind"], {}).setdefault(m["bytes"], []).append(
                {"median_us": m["median_us"], "min_us": m["min_us"]})
    return samples


def compare(machine, ready, ranks, collective, args):
    """The tables of one collective: one for each distance of the CPUs at which all contestants have had their turns, or one of all turns
    where the distance is unknown or never lasts."""
    ready = [c for c in ready if not c.collectives or collective in c.collectives]
    turns, failures, rounds = [], {}, 0
    before = placement.distance_us(machine)
    most = args.rounds * (MORE_ROUNDS if before else 1)
    while rounds < most and not (before and placement.complete(turns, [c.name for c in ready if c.name not in failures], args.rounds)):
        rounds += 1
        for c in (c for c in ready if c.name not in failures):
            start = time.monotonic()
            found, ended = turn(machine, c, ranks, collective, args.sizes)
            after = before and placement.distance_us(machine)
            distance = placement.settled(before, after)
            before = after
            print(f"{collective} {ranks} ranks, round {rounds}: {c.name} {time.monotonic() - start:.1f} s {ended}"
                  + (f", CPUs at {distance:.3f} us" if distance else ""), file=sys.stderr)
            if ended != "ok":
                failures[c.name] = ended
            turns.append({"name": c.name, "distance_us": distance, "found": found})
    table = {"collective": collective, "ranks": ranks, "failures": failures, "turns": len(turns)}
    whole = placement.complete(turns, [c.name for c in ready if c.name not in failures], min(args.rounds, FEWEST_ROUNDS))
    tables = []
    for low, high in whole:
        here = placement.chosen(turns, low, high)
        tables.append(table | {"distance_us": placement.median_distance(here), "taken": len(here), "samples": samples_of(here)})
    return tables or [table | {"distance_us": None, "taken": len(turns), "samples": samples_of(turns)}]


def main():
    args = arguments()
    args.cache.mkdir(parents=True, exist_ok=True)
    args.output.mkdir(parents=True, exist_ok=True)
    cache, build = args.cache.resolve(), args.build and pathlib.Path(args.build).resolve()
    machine = cast.Machine(cache, build, sorted(os.sched_getaffinity(0)), args.limit, args.realtime)
    contestants = (network if args.hosts else cast).all_contestants()
    ready, absent = prepared(machine, contestants, [n for n in args.only if n not in args.skip])
    if not ready:
        sys.exit("no contestant can run")
    with network.open_hosts(max(args.ranks)) if args.hosts else contextlib.nullcontext() as hosts:
        machine.hosts = hosts.hosts if hosts else ()
        tables = [table for collective in args.collectives for ranks in args.ranks
                  for table in compare(machine, ready, ranks, collective, args)]
    result = {"machine": platform.machine(), "cpu": report.cpu_name(), "cpus": machine.cpus, "rounds": args.rounds,
              "take": args.take, "realtime": args.realtime, "hosts": args.hosts, "sizes": args.sizes, "absent": absent, "tables": tables,
              "contestants": [{"name": c.name, "label": c.label, "role": c.role, "settings": c.settings, "version": c.version}
                              for c in ready]}
    (args.output / "results.json").write_text(json.dumps(result, indent=1) + "\n")
    text = report.markdown(result)
    (args.output / "table.md").write_text(text)
    print(text)
    if args.plot:
        python = cast.install(cache, "plot", ["matplotlib"]) / "bin" / "python"
        subprocess.run([str(python), str(HERE / "plot.py"), str(args.output / "results.json"), str(args.output)], check=True)


if __name__ == "__main__":
    main()
