"""How far the two first CPUs are from each other: the bare 4-byte exchange, before and after each turn. On a virtual machine whose CPUs
move between cores it changes several times over, and with it every figure; only turns at the same distance can be compared."""
import json
import statistics
import subprocess

import contestants as cast

ALIKE = 1.4  # two distances, the larger over the smaller


def distance_us(machine):
    """None where the floor's program does not build or run."""
    try:
        cast.prepare_floor(machine)
        done = subprocess.run([str(machine.cache / "floor_bench"), "-n", "2", "4"], capture_output=True, text=True, timeout=10, check=True)
        return min(json.loads(line)["median_us"] for line in done.stdout.splitlines())
    except (cast.Unavailable, OSError, subprocess.SubprocessError, ValueError, KeyError):
        return None


def settled(before, after):
    """The distance of a turn, or None if it changed meanwhile."""
    if before is None or after is None or max(before, after) > ALIKE * min(before, after):
        return None
    return (before * after) ** 0.5


def groups(distances):
    """[[distance, …], …]: the sorted distances, cut where one is not like the next."""
    cut = []
    for d in sorted(distances):
        if cut and d <= ALIKE * cut[-1][-1]:
            cut[-1].append(d)
        else:
            cut.append([d])
    return cut


def chosen(turns, low, high):
    return [t for t in turns if t["distance_us"] is not None and low <= t["distance_us"] <= high]


def complete(turns, names, rounds):
    """Groups (low, high) of distances at which each of the names has had so many turns."""
    found = []
    for group in groups([t["distance_us"] for t in turns if t["distance_us"] is not None]):
        here = [t["name"] for t in chosen(turns, group[0], group[-1])]
        if all(here.count(name) >= rounds for name in names):
            found.append((group[0], group[-1]))
    return found


def median_distance(turns):
    return statistics.median(t["distance_us"] for t in turns)
