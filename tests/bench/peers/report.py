"""Results to tables. A figure is the median (or the fastest, as asked) over rounds of each round's median; a ratio compares two figures
of the same table."""
import statistics

DRIFT_LIMIT = 1.25  # slowest round of the floor over its fastest: beyond it the machine was not quiet


def cpu_name():
    try:
        with open("/proc/cpuinfo") as f:
            return next((line.split(":", 1)[1].strip() for line in f if line.startswith("model name")), "?")
    except OSError:
        return "?"


def size_text(size):
    for unit, name in ((1 << 20, " MiB"), (1 << 10, " KiB")):
        if size >= unit and size % unit == 0:
            return f"{size // unit}{name}"
    return f"{size} B"


def time_text(us):
    return "–" if us is None else f"{us:.3f}" if us < 10 else f"{us:.1f}" if us < 1000 else f"{us:.0f}"


def ratio_text(a, b):
    return "–" if a is None or b is None else f"{a / b:.2f}"


def figures(table, take):
    """{(contestant, bytes): µs}; of the floor's loops the fastest with private buffers, and zero_copy as floor_alloc."""
    result = {}
    for name, kinds in table["samples"].items():
        for kind, sizes in kinds.items():
            column = "floor_alloc" if name == "floor" and kind == "zero_copy" else name
            for size, rounds in sizes.items():
                us = (min if take == "fastest" else statistics.median)(r["median_us"] for r in rounds)
                key = (column, int(size))
                result[key] = min(us, result.get(key, us))
    return result


def floor_drift(table, size):
    """Slowest over fastest round, of the fastest private loop of that size."""
    loops = [[r["median_us"] for r in sizes[size]] for kind, sizes in table["samples"].get("floor", {}).items()
             if kind != "zero_copy" and size in sizes]
    fastest = min(loops, key=statistics.median, default=None)
    return max(fastest) / min(fastest) if fastest else None


def best_peer(values, contestants, size):
    peers = [(values[c["name"], size], c["label"]) for c in contestants
             if c["role"] == "peer" and (c["name"], size) in values]
    return min(peers, default=(None, ""))


def table_text(table, result):
    values, contestants = figures(table, result["take"]), result["contestants"]
    columns = [(c["name"], c["label"]) for c in contestants if any(n == c["name"] for n, _ in values)]
    if any(n == "floor_alloc" for n, _ in values):
        columns.insert(1, ("floor_alloc", "floor alloc"))
    ours = [(c["name"], c["label"]) for c in contestants if c["role"] == "smddp" and any(n == c["name"] for n, _ in values)]
    head = ["bytes"] + [label for _, label in columns] + ["best peer"]
    for _, label in ours:
        head += [f"best peer ÷ {label}", f"{label} ÷ floor"]
    head += [] if ours else ["best peer ÷ floor"]
    head += ["drift"]
    rows = []
    for size in result["sizes"]:
        get = lambda name: values.get((name, size))
        best, label = best_peer(values, contestants, size)
        row = [size_text(size)] + [time_text(get(name)) for name, _ in columns] + [label or "–"]
        for name, _ in ours:
            floor = get("floor_alloc") if name == "smddp_alloc" and get("floor_alloc") else get("floor")
            row += [ratio_text(best, get(name)), ratio_text(get(name), floor)]
        row += [] if ours else [ratio_text(best, get("floor"))]
        drift = floor_drift(table, size)
        row += ["–" if drift is None else f"{drift:.2f}" + (" (!)" if drift > DRIFT_LIMIT else "")]
        rows.append(row)
    where = " on hosts of their own" if result["hosts"] else ""
    lines = [f"## {table['collective']}, float32, {table['ranks']} ranks{where}: µs", ""]
    if table["distance_us"]:
        lines += [f"While a bare exchange of 4 bytes between the CPUs took {table['distance_us']:.3f} µs: {table['taken']} of {table['turns']} turns.", ""]
    lines += ["| " + " | ".join(r) + " |" for r in [head, ["---:"] * len(head), *rows]]
    labels = {c["name"]: c["label"] for c in contestants}
    lines += [""] + [f"{labels[name]}: {why}; it took no further turn.\n" for name, why in table["failures"].items()]
    return "\n".join(lines)


def markdown(result):
    policy = ", SCHED_RR" if result["realtime"] else ""
    parts = [f"# SMDDP and its peers\n\n{result['cpu']}, {len(result['cpus'])} CPUs, {result['rounds']} rounds in alternation, "
             f"{result['take']} of the rounds' medians; rank r on the r-th CPU for all{policy}. How to read it: README.md of "
             "tests/bench/peers.\n"]
    parts += [table_text(t, result) for t in result["tables"]]
    parts.append("Settings:\n")
    parts += [f"- {' '.join([c['label'], c['version']]).strip()}: {c['settings']}" for c in result["contestants"]]
    parts += [f"- {name}: left out: {why}" for name, why in result["absent"].items()]
    return "\n".join(parts) + "\n"
