"""The functions of smddp.h, the version script and what libsmddp.so exports are one list; a Python module exports its start only."""
import re

from project import BUILD, SOURCE, compare, finish, header_functions, run


def exported(library):
    status, output = run("nm", "-D", "--defined-only", "--format=posix", library)
    if status:
        finish([f"nm {library}: {output}"], "")
    return {line.split()[0].split("@")[0] for line in output.splitlines() if line.split()[1] not in "Aa"}


problems = []
header = header_functions()
script = (SOURCE / "lib" / "libsmddp.map").read_text()
library = BUILD / "lib" / "libsmddp.so"
compare(problems, "smddp.h", header, "libsmddp.map", set(re.findall(r"^\s+(\w+);$", script, re.MULTILINE)))
compare(problems, "smddp.h", header, "nm -D libsmddp.so", exported(library))

modules = [path for path in BUILD.glob("python/**/*.so") if not path.is_symlink() and not path.name.startswith("libsmddp")]
for module in modules:
    for symbol in sorted(exported(module)):
        if not symbol.startswith("PyInit_"):
            problems.append(f"{module.name} exports {symbol}")
finish(problems, f"{len(header)} functions; {len(modules)} Python modules")
