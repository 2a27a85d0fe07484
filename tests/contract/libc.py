"""Nothing that is installed names what tests/install/other_libc hides, extensions of glibc that other C libraries lack. install_other_libc,
under the label soak, builds without them."""
import re

from project import SOURCE, code_of, finish

SHIM = SOURCE / "tests" / "install" / "other_libc"
names = re.search(r"#pragma GCC poison (.*)", (SHIM / "hidden.h").read_text())[1].split()
hidden = [rf"\b{name}\b" for name in names] + [rf"<{path.name}>" for path in SHIM.glob("*.h") if path.name != "hidden.h"]
searched = re.compile("|".join(hidden))
problems, files = [], 0
for folder in ("include", "lib", "tools", "torch_plugin"):
    for path in sorted((SOURCE / folder).rglob("*")):
        if path.suffix not in (".h", ".hpp", ".c", ".cpp"):
            continue
        files += 1
        for match in searched.finditer(code_of(path)):
            problems.append(f"{path.relative_to(SOURCE)} names {match[0]}")
finish(problems, f"{files} files, {len(hidden)} names")
