#!/usr/bin/env python3
"""Compiles the example of every man page of section 3, so that no page shows a program that does not build.

Environment: SMDDP_SOURCE_DIR and SMDDP_BUILD_DIR as CTest sets them; CC is the compiler. Every page that is no link page must have
exactly one literal block in EXAMPLES, and it must be a whole C11 program.
"""
import os
import pathlib
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(os.environ.get("SMDDP_SOURCE_DIR", pathlib.Path(__file__).resolve().parents[2]))
BUILD = pathlib.Path(os.environ.get("SMDDP_BUILD_DIR", SOURCE / "build"))
ESCAPES = {r"\e": "\\", r"\-": "-", r"\&": "", r"\(aq": "'", r"\(dq": '"'}


def unescape(line):
    """The text of a line of mdoc: the few escapes that the pages use."""
    text, i = "", 0
    while i < len(line):
        for escape, plain in ESCAPES.items():
            if line.startswith(escape, i):
                text, i = text + plain, i + len(escape)
                break
        else:
            text, i = text + line[i], i + 1
    return text


def examples(page):
    """The literal blocks of the section EXAMPLES."""
    blocks, section, block = [], "", None
    for line in page.read_text(encoding="utf-8").splitlines():
        if line.startswith(".Sh "):
            section = line[4:].strip()
        elif section == "EXAMPLES" and line.startswith(".Bd -literal"):
            block = []
        elif block is not None and line.startswith(".Ed"):
            blocks.append("\n".join(block) + "\n")
            block = None
        elif block is not None:
            block.append(unescape(line))
    return blocks


def fault(page, folder):
    """What is wrong with the example of a page; empty if nothing is."""
    blocks = examples(page)
    if len(blocks) != 1:
        return f"{len(blocks)} literal blocks in EXAMPLES, expected 1"
    if "int main(void)" not in blocks[0]:
        return "the example is not a whole program"
    program = pathlib.Path(folder) / (page.stem + ".c")
    program.write_text(blocks[0], encoding="utf-8")
    command = [os.environ.get("CC", "cc"), "-std=c11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only",
               f"-I{SOURCE / 'include'}", f"-I{BUILD / 'include'}", str(program)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    return run.stderr if run.returncode else ""


def main():
    if not (BUILD / "include/smddp/version.h").exists():
        sys.exit(f"{BUILD}/include/smddp/version.h is missing: configure the build first")
    pages = [p for p in sorted((SOURCE / "man/man3").glob("*.3")) if not p.read_text(encoding="utf-8").startswith(".so ")]
    if not pages:
        sys.exit(f"no pages in {SOURCE}/man/man3")
    with tempfile.TemporaryDirectory() as folder:
        faults = [(page.name, text) for page in pages if (text := fault(page, folder))]
    for name, text in faults:
        print(f"{name}: {text}", file=sys.stderr)
    print(f"{len(pages)} examples, {len(faults)} at fault")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
