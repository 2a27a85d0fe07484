"""Each public header compiles alone as C11 and C++17 without a warning; abi.c agrees with it and has a line for all it declares."""
import pathlib
import re
import shutil
import tempfile

from project import BUILD, SOURCE, code_of, finish, header_functions, run, HEADER

FLAGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wstrict-prototypes", "-Werror", "-fsyntax-only", "-I", SOURCE / "include", "-I", BUILD / "include"]
CPLUSPLUS_FLAGS = [flag for flag in FLAGS if flag != "-Wstrict-prototypes"]
LANGUAGES = [("cc", "c", "c11", FLAGS), ("c++", "c++", "c++17", CPLUSPLUS_FLAGS), ("clang", "c", "c11", FLAGS), ("clang++", "c++", "c++17", CPLUSPLUS_FLAGS),
             ("musl-gcc", "c", "c11", FLAGS)]
ABI = pathlib.Path(__file__).with_name("abi.c")

problems, compiled = [], 0
headers = sorted(path.name for folder in (SOURCE, BUILD) for path in (folder / "include" / "smddp").glob("*.h"))
with tempfile.TemporaryDirectory() as folder:
    sources = {"abi.c": ABI}
    for header in headers:
        sources[header] = pathlib.Path(folder, header + ".c")
        sources[header].write_text(f"#include <smddp/{header}>\n#include <smddp/{header}>\ntypedef int not_empty;\n")
    for compiler, language, standard, flags in LANGUAGES:
        if not shutil.which(compiler):
            continue
        for name, source in sources.items():
            status, output = run(compiler, "-x", language, "-std=" + standard, *flags, source)
            compiled += 1
            if status:
                problems.append(f"{name} with {compiler} as {standard}:\n{output}")

header, abi = code_of(HEADER), code_of(ABI)
for body, name in re.findall(r"typedef enum \w+ \{([^}]*)\} (\w+);", header):
    for value in re.findall(r"(SMDDP_\w+)\s*=", body):
        if f"VALUE({value}," not in abi:
            problems.append(f"abi.c has no VALUE({value}, …) of {name}")
for body, name in re.findall(r"typedef struct \w+ \{([^}]*)\} (\w+);", header):
    for field in re.findall(r"(\w+)(?:\[\w+\])?;", body):
        if f"FIELD({name}, {field}," not in abi:
            problems.append(f"abi.c has no FIELD({name}, {field}, …)")
for function in sorted(header_functions()):
    if not re.search(rf"\b{function}\(", abi):
        problems.append(f"abi.c does not declare {function}")
finish(problems, f"{len(headers)} headers and abi.c compiled {compiled} times; every enumerator, field and function is in abi.c")
