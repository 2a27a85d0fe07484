"""The project's text names no place of the machine that it was written on and no host of a package registry."""
import pathlib
import re
import shutil

from project import BUILD, SOURCE, finish, run

# Written in pieces, so that this file does not find itself.
PATTERNS = [r"/ro" r"ot/", r"/ho" r"me/\w", r"/wo" r"rk/", r"/op" r"t/\w", r"py" r"pi\.org", r"python" r"hosted\.org", r"deb\.deb" r"ian\.org"]
PATTERNS += [re.escape(str(place)) for place in (SOURCE, pathlib.Path.home()) if len(place.parts) > 2]
SKIPPED = {".git", "build", ".venv", "__pycache__"}

status, listing = 1, ""
if shutil.which("git"):
    status, listing = run("git", "-C", SOURCE, "ls-files", "--cached", "--others", "--exclude-standard")
if status == 0 and listing.strip():
    files = [SOURCE / name for name in listing.splitlines()]
else:
    files = [path for path in SOURCE.rglob("*") if not SKIPPED & set(path.relative_to(SOURCE).parts)]

problems, searched = [], re.compile("|".join(PATTERNS))
for path in files:
    if not path.is_file() or BUILD in path.parents:
        continue
    data = path.read_bytes()
    if b"\0" in data:
        continue
    for number, line in enumerate(data.decode(errors="replace").splitlines(), 1):
        match = searched.search(line)
        if match:
            problems.append(f"{path.relative_to(SOURCE)}:{number}: {match[0]}")
finish(problems, f"{len(files)} files")
