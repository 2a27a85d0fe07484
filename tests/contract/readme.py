"""README's C program compiles without a warning and computes what it says, on one and on three ranks; its links lead somewhere."""
import pathlib
import re
import tempfile

from project import BUILD, SOURCE, finish, run

text = (SOURCE / "README.md").read_text()
problems = [f"README.md links to {name}" for name in re.findall(r"\]\(([^)#:]+)\)", text) if not (SOURCE / name).exists()]
programs = re.findall(r"^```c\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
if not programs:
    problems.append("README.md has no C program")
with tempfile.TemporaryDirectory() as folder:
    for program in programs:
        source, binary = pathlib.Path(folder, "sum.c"), pathlib.Path(folder, "sum")
        source.write_text(program)
        status, output = run("cc", "-std=c11", "-Wall", "-Wextra", "-Werror", f"-I{SOURCE}/include", f"-I{BUILD}/include", source,
                             f"-L{BUILD}/lib", f"-Wl,-rpath,{BUILD}/lib", "-lsmddp", "-o", binary)
        if status:
            problems.append(output)
            continue
        for ranks in (1, 3):
            status, output = run(BUILD / "bin" / "smddprun", "-n", ranks, binary, timeout=60)
            total = ranks * (ranks + 1) // 2
            if status or len(re.findall(rf"rank \d: {total}$", output, re.MULTILINE)) != ranks:
                problems.append(f"README's program on {ranks} ranks ends with {status}: {output}")
finish(problems, f"{len(programs)} C program")
