"""No installed file names the build or source folder; programs look for the library beside them, the library looks nowhere; its name
carries the version; ldd finds everything without LD_LIBRARY_PATH."""
import re

from installed import BUILD, SOURCE, STAGE, clean_environment, finish, run

problems, files = [], 0
for path in sorted(STAGE.rglob("*")):
    if not path.is_file() or path.is_symlink():
        continue
    files += 1
    data = path.read_bytes()
    if b"\0" in data:
        continue
    for place in {str(BUILD), str(SOURCE), str(STAGE)}:
        if place.encode() in data:
            problems.append(f"{path.relative_to(STAGE)} names {place}")


def dynamic(path):
    return run("readelf", "-d", path)[1]


library = (STAGE / "lib" / "libsmddp.so").resolve()
if not re.search(r"SONAME.*\[libsmddp\.so\.\d+\]", dynamic(library)):
    problems.append("the SONAME of libsmddp.so has no version")
if re.search(r"\((RPATH|RUNPATH)\)", dynamic(library)):
    problems.append("libsmddp.so has a run path")
if not re.search(r"FLAGS_1.*NODELETE", dynamic(library)):
    problems.append("libsmddp.so may be unmapped")
for path in sorted(STAGE.rglob("*")):
    if path.is_symlink() or not path.is_file() or path.read_bytes()[:4] != b"\x7fELF":
        continue
    found = re.search(r"\((RPATH|RUNPATH)\).*\[(.*)\]", dynamic(path))
    if path.parent.name == "bin" and (not found or found[1] != "RPATH" or found[2] != "$ORIGIN/../lib"):
        problems.append(f"{path.name}: the run path is {found[0] if found else 'missing'}")
    if found and not all(one.startswith("$ORIGIN") for one in found[2].split(":")):
        problems.append(f"{path.name}: the run path {found[2]} leads out of the installation")
    if path.parent.name == "bin":
        status, output = run("ldd", path, env=clean_environment())
        if status or "not found" in output:
            problems.append(f"ldd {path.name}: {output}")
finish(problems, f"{files} files")
