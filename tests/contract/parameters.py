"""The environment variables of lib/base/parameters.cpp, of smddp(7) and of smddp-info --params --json are one list."""
import json
import re

from project import BUILD, SOURCE, compare, finish, run

problems = []
table = set(re.findall(r'^\s+\{"(SMDDP_\w+)",', (SOURCE / "lib" / "base" / "parameters.cpp").read_text(), re.MULTILINE))
if len(table) < 5:
    problems.append(f"only {len(table)} parameters found in parameters.cpp: has its layout changed?")

page = SOURCE / "man" / "man7" / "smddp.7"
documented = set(re.findall(r"^\.It Ev (SMDDP_\w+)", page.read_text(), re.MULTILINE)) if page.exists() else set()
compare(problems, "parameters.cpp", table, "smddp.7", documented)


def names_in(node):
    if isinstance(node, dict):
        if isinstance(node.get("name"), str):
            yield node["name"]
        for key, value in node.items():
            if key.startswith("SMDDP_"):
                yield key
            yield from names_in(value)
    elif isinstance(node, list):
        for value in node:
            yield from names_in(value)


status, output = run(BUILD / "bin" / "smddp-info", "--params", "--json")
if status:
    problems.append(f"smddp-info --params --json ends with {status}: {output}")
else:
    compare(problems, "parameters.cpp", table, "smddp-info --params --json", set(names_in(json.loads(output))))
finish(problems, f"{len(table)} parameters")
