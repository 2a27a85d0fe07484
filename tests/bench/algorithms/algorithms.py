"""Times every algorithm of a collective between hosts, in alternation, beside the library's choice.

    tests/bench/algorithms/algorithms.py --build build/release --nodes 2+2 --collective allreduce --rounds 5 --json result.json

Hosts are network namespaces of this machine, joined by veth; needs root. A round is one job in which each size runs by each algorithm in
turn; a figure is the median over the rounds of smddp-bench's medians. The line below the table says for each size which algorithm the
library chose, which one was fastest, and their ratio. --realtime runs the ranks under SCHED_RR, ahead of what else the machine does.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys

WORLD = pathlib.Path(__file__).resolve().parents[2] / "world"


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build/release", help="build tree")
    parser.add_argument("--nodes", default="2+2", help="ranks of each host")
    parser.add_argument("--collective", default="allreduce")
    parser.add_argument("--algorithms", help="these alone, with commas; else all")
    parser.add_argument("-b", default="4", help="smallest size")
    parser.add_argument("-e", default="16M", help="largest size")
    parser.add_argument("-f", default="4", help="factor between sizes")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--provider", default="")
    parser.add_argument("--realtime", action="store_true")
    parser.add_argument("--json", help="file for all figures")
    return parser.parse_args()


def algorithms_of(build, collective, ranks):
    """smddp-info lists them when it is asked without one."""
    told = subprocess.run([f"{build}/bin/smddp-info", "--schedule", collective, "--ranks", str(ranks)], capture_output=True, text=True)
    return told.stderr.rpartition(" is none of ")[2].strip().split(", ")


def run_round(network, layout, choice, names):
    from rank_job import Job
    command = [f"{choice.build}/bin/smddp-bench", choice.collective, "-b", choice.b, "-e", choice.e, "-f", choice.f, "--algorithm", ",".join(names),
               "--json", "-"]
    first = ("chrt", "-r", "10") if choice.realtime else ()
    env = {"SMDDP_OFI_PROVIDER": choice.provider} if choice.provider else {}
    with Job(len(layout), *first, *command, wrap=lambda rank: network.wrap(layout[rank]), address="10.77.0.1", env=env) as job:
        ended = job.wait(600)
        if any(ended.values()):
            sys.exit(job.report())
        return json.loads(job.output[0])


def chosen_at(choices, collective, block_bytes):
    names = [one["algorithm"] for one in choices if one["collective"] == collective and one["from_bytes"] <= block_bytes]
    return names[-1] if names else "node"


def main():
    choice = options()
    choice.build = os.path.abspath(choice.build)
    os.environ["SMDDP_BUILD_DIR"] = choice.build
    sys.path.insert(0, str(WORLD))
    import hosts
    problem = hosts.why_not()
    if problem:
        sys.exit(problem)
    sizes = [int(ranks) for ranks in choice.nodes.split("+")]
    layout = [host for host, ranks in enumerate(sizes) for _ in range(ranks)]
    names = choice.algorithms.split(",") if choice.algorithms else algorithms_of(choice.build, choice.collective, len(layout))
    rounds = []
    with hosts.Hosts(len(sizes)) as network:
        for number in range(choice.rounds):
            rounds.append(run_round(network, layout, choice, ["none", *names]))
            print(f"round {number + 1}: {json.dumps(rounds[-1]['job']['calibration'])}", file=sys.stderr)

    times, counts = {}, {}
    for one in rounds:
        for row in one["results"]:
            times.setdefault(row["bytes"], {}).setdefault(row["algorithm"] or "none", []).append(row["median_us"])
            counts[row["bytes"]] = row["count"] * 4
    print(f"{choice.collective} of float32 on {choice.nodes} ranks over {rounds[0]['job']['network']['provider']}, median of {choice.rounds} rounds, us")
    print("| bytes | " + " | ".join(names) + " | library | chose | fastest | chosen ÷ fastest |")
    print("|---:|" + "---:|" * (len(names) + 1) + "---|---|---:|")
    table = []
    for size, by in times.items():
        median = {name: statistics.median(values) for name, values in by.items()}
        fastest = min(names, key=median.get)
        votes = [chosen_at(one["job"]["choices"], choice.collective, counts[size]) for one in rounds]
        chosen = max(set(votes), key=votes.count)
        ratio = median.get(chosen, median["none"]) / median[fastest]  # the choice may be one that was not asked for by name
        table.append({"bytes": size, "median_us": median, "chosen": chosen, "votes": votes, "fastest": fastest, "ratio": ratio})
        print(f"| {size} | " + " | ".join(f"{median[name]:.1f}" for name in names) +
              f" | {median['none']:.1f} | {chosen} | {fastest} | {ratio:.2f} |")
    if choice.json:
        pathlib.Path(choice.json).write_text(json.dumps({"table": table, "rounds": rounds}, indent=2) + "\n")


if __name__ == "__main__":
    main()
