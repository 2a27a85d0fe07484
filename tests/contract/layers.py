"""A file of a layer includes only its own layer and those before it in lib/CMakeLists.txt; clients include smddp.h alone."""
import re

from project import SOURCE, finish

LIB = SOURCE / "lib"
ORDER = re.search(r"set\(layers ([\w ]+)\)", (LIB / "CMakeLists.txt").read_text())[1].split()
# Beyond the order: what these layers, although they stand later, may see.
ONLY = {"coll": {"base"}}
NOT = {"node": {"topology", "bootstrap"}, "transport": {"bootstrap", "reduce", "coll", "node"}}
# Clients of the C API: no include of lib/ at all. The simulator works on schedules.
CLIENTS = ["tools", "torch_plugin", "bindings", "examples"]
CLIENT_MAY = {"smddp-sim": {"base", "coll"}}
SUFFIXES = {".hpp", ".cpp", ".h", ".c", ".cu"}


def includes(path):
    for number, line in enumerate(path.read_text().splitlines(), 1):
        match = re.match(r'\s*#\s*include\s*"([^"]+)"', line)
        if match:
            yield number, match[1]


def allowed(layer):
    seen = ONLY.get(layer, set(ORDER[: ORDER.index(layer)]) - NOT.get(layer, set()))
    return seen | {layer}


problems, files = [], 0
for path in sorted(LIB.rglob("*")):
    if path.suffix not in SUFFIXES:
        continue
    files += 1
    place = path.relative_to(SOURCE)
    layer = path.relative_to(LIB).parts[0]
    if layer not in ORDER:
        problems.append(f"{place}: {layer} is no layer of lib/CMakeLists.txt")
        continue
    for number, name in includes(path):
        target = name.split("/")[0]
        if target not in ORDER:
            problems.append(f'{place}:{number}: "{name}" is not relative to lib/')
        elif target not in allowed(layer):
            problems.append(f'{place}:{number}: layer {layer} must not include "{name}"')
        elif not (LIB / name).exists():
            problems.append(f'{place}:{number}: "{name}" does not exist')
for client in CLIENTS:
    for path in sorted((SOURCE / client).rglob("*")):
        if path.suffix not in SUFFIXES:
            continue
        files += 1
        may = next((layers for name, layers in CLIENT_MAY.items() if name in path.parts), set())
        for number, name in includes(path):
            if name.split("/")[0] in set(ORDER) - may and (LIB / name).exists():
                problems.append(f'{path.relative_to(SOURCE)}:{number}: a client of smddp.h must not include "{name}"')
finish(problems, f"{files} files, layers {' '.join(ORDER)}")
