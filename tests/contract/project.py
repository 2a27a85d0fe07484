"""What the contract tests share: where things are, what the public header declares, how a test ends."""
import os
import pathlib
import re
import subprocess
import sys

SOURCE = pathlib.Path(os.environ.get("SMDDP_SOURCE_DIR", pathlib.Path(__file__).resolve().parents[2]))
BUILD = pathlib.Path(os.environ.get("SMDDP_BUILD_DIR", SOURCE / "build" / "release"))
HEADER = SOURCE / "include" / "smddp" / "smddp.h"


def run(*command, **options):
    """Standard output and error together, with the exit status."""
    words = [str(word) for word in command]
    try:
        done = subprocess.run(words, text=True, errors="replace", stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)
    except (FileNotFoundError, subprocess.TimeoutExpired) as problem:
        return 127, f"{problem}\n"
    return done.returncode, done.stdout


def code_of(path):
    """The text of a C or C++ file without its comments."""
    return re.sub(r"/\*.*?\*/|//[^\n]*", " ", path.read_text(), flags=re.DOTALL)


def header_functions():
    return set(re.findall(r"SMDDP_EXPORT\b[^;(]*?\b(smddp_\w+)\s*\(", code_of(HEADER)))


def compare(problems, left_name, left, right_name, right):
    """Two sets that must be equal."""
    for name in sorted(left - right):
        problems.append(f"{name}: in {left_name}, not in {right_name}")
    for name in sorted(right - left):
        problems.append(f"{name}: in {right_name}, not in {left_name}")


def finish(problems, summary):
    for problem in problems:
        print(f"FAIL: {problem}")
    if not problems:
        print(summary)
    sys.exit(1 if problems else 0)


def skip(reason):
    print(f"SKIP: {reason}")
    sys.exit(77)
