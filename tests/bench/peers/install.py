"""Installs the MPI libraries that measurements compare with and that tests start ranks by: install.py NAME … makes a virtual environment
of each name in the cache folder. What is there stays."""
import os
import pathlib
import subprocess
import sys

PACKAGES = {
    "mpich": ["mpich>=5,<6"],
    "openmpi": ["openmpi>=5,<6"],
    "impi": ["impi-rt>=2021.18,<2022", "impi-devel>=2021.18,<2022"],
}


class Unavailable(Exception):
    """Something cannot be installed here; the text says why."""


def cache_folder():
    return pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "smddp-peers"


def run_checked(command, what):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        raise Unavailable(f"{what} failed: {done.stdout.strip().splitlines()[-1:] or done.returncode}")


def is_installed(folder, packages):
    stamp = folder / ".packages"
    return stamp.exists() and stamp.read_text() == " ".join(packages)


def install(cache, name, packages):
    """A virtual environment of that name with the packages, made once; returns its folder."""
    folder = cache / name
    if not is_installed(folder, packages):
        wanted = " ".join(packages)
        print(f"installing {wanted} into {folder}", file=sys.stderr)
        run_checked([sys.executable, "-m", "venv", str(folder)], "python3 -m venv")
        run_checked([str(folder / "bin" / "pip"), "install", "-q", *packages], f"pip install {wanted}")
        (folder / ".packages").write_text(wanted)
    return folder


def main():
    status = 0
    for name in sys.argv[1:]:
        try:
            install(cache_folder(), name, PACKAGES[name])
        except Unavailable as problem:
            print(f"{name} is not there: {problem}", file=sys.stderr)
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
