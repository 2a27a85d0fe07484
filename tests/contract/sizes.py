"""Lines of the source files: median, 90th percentile and largest; none may have more than 500."""
import statistics

from project import SOURCE, finish

LIMIT = 500
SUFFIXES = {".hpp", ".cpp", ".h", ".c", ".cu", ".py"}

problems = []
for folder in ("lib", "tools", "torch_plugin", "include", "bindings", "examples", "tests"):
    sizes = sorted((len(path.read_text().splitlines()), str(path.relative_to(SOURCE)))
                   for path in (SOURCE / folder).rglob("*") if path.suffix in SUFFIXES)
    if not sizes:
        continue
    lines = [size for size, _ in sizes]
    tenth = lines[min(len(lines) - 1, int(len(lines) * 0.9))]
    print(f"{folder:13} {len(lines):4} files, median {statistics.median(lines):5.0f}, 90th percentile {tenth:4}, largest {lines[-1]:4} {sizes[-1][1]}")
    if folder in ("lib", "tools", "torch_plugin"):
        problems += [f"{name} has {size} lines, more than {LIMIT}" for size, name in sizes if size > LIMIT]
finish(problems, f"no source file has more than {LIMIT} lines")
