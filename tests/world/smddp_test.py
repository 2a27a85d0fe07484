"""What the tests with real processes share: where the programs are, running them, and waiting for what must happen.

A test script is a unittest program that ends with smddp_test.main(). A skipped test says why; a script of which nothing ran ends
with status 77.
"""
import os
import signal
import subprocess
import sys
import time
import unittest

BUILD = os.environ.get("SMDDP_BUILD_DIR", "build")
SMDDPRUN = os.path.join(BUILD, "bin", "smddprun")
BENCH = os.path.join(BUILD, "bin", "smddp-bench")
INFO = os.path.join(BUILD, "bin", "smddp-info")
SERVER = os.path.join(BUILD, "bin", "smddp-server")
NO_PRELOAD = "a sanitizer's runtime must come before a preloaded library, or this C library has no RTLD_NEXT"

# Set by launchers; a test must not inherit them from whoever started it.
LAUNCHER_PREFIXES = ("OMPI_", "PMI_", "PMIX_", "MPI_LOCAL", "SLURM_", "SMDATAPARALLEL_", "SMDDP_JOB_ID", "SMDDP_BOOTSTRAP_", "SMDDP_SERVER")
LAUNCHER_NAMES = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")


def environment(**changes):
    """This process's environment without any launcher's variables, with changes."""
    env = {name: value for name, value in os.environ.items()
           if name not in LAUNCHER_NAMES and not name.startswith(LAUNCHER_PREFIXES)}
    env.update(changes)
    return env


def run(*command, env=None, timeout=60, **options):
    """Runs a command to its end. The result has returncode, stdout, stderr (bytes) and seconds."""
    begin = time.monotonic()
    result = subprocess.run(command, env=env or environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=timeout,
                            **({"stdin": subprocess.DEVNULL} | options))
    result.seconds = time.monotonic() - begin
    return result


def preload(name):
    """LD_PRELOAD with a library of this folder; None where none can be preloaded."""
    library = os.path.join(BUILD, "tests", "world", f"libsmddp_{name}.so")
    if os.environ.get("SMDDP_SANITIZER") or not os.path.exists(library):
        return None
    return ":".join(filter(None, (os.environ.get("LD_PRELOAD"), library)))


def smddprun(*arguments, **options):
    return run(SMDDPRUN, *arguments, **options)


def start(*command, env=None, **options):
    """Starts a command with pipes for its output, in a session of its own."""
    return subprocess.Popen(command, env=env or environment(), start_new_session=True,
                            **({"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options))


def script(folder, name, text):
    """An executable shell script."""
    path = os.path.join(folder, name)
    with open(path, "w") as file:
        file.write("#!/bin/sh\n" + text)
    os.chmod(path, 0o755)
    return path


def until(condition, seconds=10, step=0.01):
    """Waits until condition() is true; returns its last value."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value or time.monotonic() >= end:
            return value
        time.sleep(step)


def processes_with(marker):
    """Process ids, not zombies, in whose environment the bytes of marker stand."""
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit() or int(entry) == os.getpid():
            continue
        try:
            with open(f"/proc/{entry}/environ", "rb") as file:
                if marker.encode() not in file.read():
                    continue
            with open(f"/proc/{entry}/stat", "rb") as file:
                if file.read().rpartition(b")")[2].split()[0] != b"Z":
                    found.append(int(entry))
        except OSError:
            continue
    return found


def torch_python():
    """A Python that has torch: that of SMDDP_VENV, of the project's .venv, or this one; None if none has."""
    folders = (os.environ.get("SMDDP_VENV"), os.path.join(os.environ.get("SMDDP_SOURCE_DIR", "."), ".venv"))
    candidates = [os.path.join(folder, "bin", "python") for folder in folders if folder] + [sys.executable]
    for python in candidates:
        if os.path.exists(python) and subprocess.run([python, "-c", "import torch"], capture_output=True).returncode == 0:
            return python
    return None


class Unavailable(Exception):
    """What a test needs is not here; the text says why."""


class TestCase(unittest.TestCase):
    """Adds checks of results of run()."""

    def assert_status(self, result, expected):
        self.assertEqual(result.returncode, expected,
                         f"{result.args}\nstdout: {result.stdout[-3000:]!r}\nstderr: {result.stderr[-3000:]!r}")

    def assert_says(self, result, text):
        self.assertIn(text.encode(), result.stderr, f"standard error of {result.args}")


def main():
    signal.signal(signal.SIGINT, signal.default_int_handler)
    program = unittest.main(exit=False, verbosity=2)
    result = program.result
    for case, reason in result.skipped:
        print(f"SKIP: {case.id()}: {reason}")
    if not result.wasSuccessful():
        sys.exit(1)
    sys.exit(77 if result.skipped and len(result.skipped) == result.testsRun else 0)
