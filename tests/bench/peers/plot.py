"""plot.py RESULTS.JSON FOLDER: a PNG per table of results.json, time over bytes. Needs matplotlib."""
import collections
import json
import pathlib
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402  (the backend is chosen first)

import report  # noqa: E402


def main():
    result = json.loads(pathlib.Path(sys.argv[1]).read_text())
    labels = {c["name"]: f"{c['label']} {c['version']}".strip() for c in result["contestants"]} | {"floor_alloc": "floor alloc"}
    seen = collections.Counter()
    for table in result["tables"]:
        values = report.figures(table, result["take"])
        figure, axes = plt.subplots(figsize=(9, 6))
        for name in [n for n in labels if any(key[0] == n for key in values)]:
            points = sorted((size, us) for (n, size), us in values.items() if n == name)
            style = "--" if name.startswith("floor") else "-"
            width = 2.5 if name.startswith("smddp") else 1.2
            axes.plot(*zip(*points), style, marker="o", markersize=3, linewidth=width, label=labels[name])
        axes.set(xscale="log", yscale="log", xlabel="bytes", ylabel="µs",
                 title=f"{table['collective']}, float32, {table['ranks']} ranks, {result['cpu']}"
                       + (f", CPUs at {table['distance_us']:.3f} µs" if table["distance_us"] else ""))
        axes.set_xticks(result["sizes"], [report.size_text(s) for s in result["sizes"]], rotation=45)
        axes.grid(True, which="major", alpha=0.3)
        axes.legend()
        figure.tight_layout()
        name = f"{table['collective']}_{table['ranks']}"
        seen[name] += 1
        target = pathlib.Path(sys.argv[2]) / (name + (f"_{seen[name]}" if seen[name] > 1 else "") + ".png")
        figure.savefig(target, dpi=120)
        print(target)


if __name__ == "__main__":
    main()
