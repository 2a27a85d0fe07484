"""What is the same under every launcher: a job meets without any address, smddprun translates, and wrong variables are named.

A test_launchers_*.py derives from Launcher, says what the variables are called, and starts commands on some ranks.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import namespace_hosts
import smddp_test
from smddp_test import BENCH, SMDDPRUN

PROGRAM = os.path.join(smddp_test.BUILD, "tests", "world", "rank_program")
SOURCE = os.environ.get("SMDDP_SOURCE_DIR") or str(pathlib.Path(__file__).resolve().parents[2])
# Ranks that are refused, or wait for others, give up soon.
SHORT = {"SMDDP_TIMEOUT_MS": "8000"}

sys.path.insert(0, os.path.join(SOURCE, "tests", "bench", "peers"))
import install as peers  # noqa: E402


def peer(case, name):
    """The folder where the MPI library is; skips where it is not."""
    folder = peers.cache_folder() / name
    if not peers.is_installed(folder, peers.PACKAGES[name]):
        case.skipTest(f"{name} is not installed: ./dev test installs it, or tests/bench/peers/install.py {name}")
    return folder


def with_mpi(folder, target):
    """Builds the program that uses SMDDP and the MPI library."""
    libraries = [f"{folder}/lib", f"{folder}/lib/openmpi"]
    command = ["cc", "-std=c11", os.path.join(SOURCE, "tests", "world", "mpi", "both.c"), f"-I{SOURCE}/include",
               f"-I{smddp_test.BUILD}/include", f"-I{folder}/include", f"-L{smddp_test.BUILD}/lib", "-lsmddp", f"-L{folder}/lib", "-lmpi",
               *[f"-Wl,-rpath,{place}" for place in (os.path.abspath(f"{smddp_test.BUILD}/lib"), *libraries)], "-o", target]
    subprocess.run(command, check=True, capture_output=True)
    return target


class Shared:
    """For a class of tests that share one resource, or skip with the reason. make(): gives it, with close(), or raises Unavailable."""

    resource = problem = None

    @classmethod
    def setUpClass(cls):
        try:
            cls.resource = cls.make()
        except smddp_test.Unavailable as problem:
            cls.problem = str(problem)

    @classmethod
    def tearDownClass(cls):
        if cls.resource:
            cls.resource.close()

    def setUp(self):
        if self.problem:
            self.skipTest(self.problem)


class Launcher:
    """Tests to inherit beside smddp_test.TestCase. RANK, SIZE: names of variables."""

    RANK = SIZE = None
    SIZE_DIFFERS = "number of ranks differs"
    DUPLICATE = "duplicate rank 1"

    def launch(self, ranks, *command, **variables):
        """Runs the command as so many ranks; returns the result of smddp_test.run."""
        raise NotImplementedError

    def rank_as(self, rank, changes, ranks=3, **variables):
        """A job of which one rank has other variables."""
        script = f'[ "${self.RANK}" = {rank} ] && export {changes}; exec "$@"'
        return self.launch(ranks, "sh", "-c", script, "sh", PROGRAM, "sum", **(SHORT | variables))

    def assert_job(self, result, ranks):
        self.assert_status(result, 0)
        begin = result.stdout.index(b"{")
        data = json.JSONDecoder().raw_decode(result.stdout[begin:].decode())[0]
        self.assertEqual((data["ranks"], data["wrong"]), (ranks, 0))

    def test_meets(self):
        for ranks in (1, 2, 4):
            with self.subTest(ranks=ranks):
                result = self.launch(ranks, BENCH, "allreduce", "-b", "4", "-e", "1M", "-f", "4", "-c", "1", "-n", "4", "--json", "-")
                self.assert_job(result, ranks)

    def test_each_rank_once(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assert_status(self.launch(4, "sh", "-c", f'"$@" && touch {folder}/${self.RANK}', "sh", PROGRAM, "sum"), 0)
            self.assertEqual(sorted(os.listdir(folder)), ["0", "1", "2", "3"])

    def test_several_at_once(self):
        for _ in range(2):
            self.assert_status(self.launch(2, PROGRAM, "sum"), 0)

    def test_through_smddprun(self):
        self.assert_status(self.launch(3, SMDDPRUN, PROGRAM, "sum"), 0)
        result = self.launch(2, SMDDPRUN, "sh", "-c", 'echo "<$RANK/$WORLD_SIZE $LOCAL_RANK>"')
        self.assert_status(result, 0)
        lines = [line[line.index(b"<"):] for line in result.stdout.splitlines() if b"<" in line]
        self.assertEqual(sorted(lines), [b"<0/2 0>", b"<1/2 1>"], result.stdout)

    def test_exit_status(self):
        self.assertNotEqual(self.launch(3, PROGRAM, "exit-of-one", "1", "7").returncode, 0)

    def test_duplicate_rank(self):
        result = self.rank_as(2, f"{self.RANK}=1")
        self.assertNotEqual(result.returncode, 0)
        self.assertIn(self.DUPLICATE, (result.stdout + result.stderr).decode())

    def test_size_differs(self):
        result = self.rank_as(2, f"{self.SIZE}=5")
        self.assertNotEqual(result.returncode, 0)
        self.assertIn(self.SIZE_DIFFERS, (result.stdout + result.stderr).decode())

    def test_rank_out_of_range(self):
        result = self.rank_as(2, f"{self.RANK}=3")
        self.assertNotEqual(result.returncode, 0)
        self.assertIn(f"{self.RANK}='3' is not an integer from 0 to 2", (result.stdout + result.stderr).decode())

    def test_job_id_differs(self):
        result = self.rank_as(1, "SMDDP_JOB_ID=b", SMDDP_JOB_ID="a")
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("job id differs", (result.stdout + result.stderr).decode())

    def test_rank_0_that_fails_is_heard(self):
        result = self.rank_as(0, "SMDDP_BOOTSTRAP_INTERFACE=nosuch0")
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("SMDDP_BOOTSTRAP_INTERFACE='nosuch0'", (result.stdout + result.stderr).decode())


class MpiLauncher(Launcher):
    """Adds: an MPI library in the same process, and two hosts. PEER: its name; ON_HOSTS: options for a remote command (SSH) and for
    the hosts HOST1 and HOST2, of which each takes two ranks."""

    PEER, ON_HOSTS = None, ()

    def test_two_hosts(self):
        try:
            hosts = namespace_hosts.Hosts()
        except smddp_test.Unavailable as problem:
            self.skipTest(str(problem))
        try:
            options = [word.replace("SSH", hosts.ssh).replace("HOST1", hosts.ADDRESSES[0]).replace("HOST2", hosts.ADDRESSES[1])
                       for word in self.ON_HOSTS]
            before = hosts.command("a")
            self.assert_status(self.launch(4, PROGRAM, "sum", before=before, options=options, **SHORT), 0)
        finally:
            hosts.close()

    def test_mpi_in_the_same_process(self):
        if os.environ.get("SMDDP_SANITIZER"):
            self.skipTest("a sanitizer wants to be linked with the program")
        with tempfile.TemporaryDirectory() as folder:
            program = with_mpi(self.folder, str(pathlib.Path(folder, "both")))
            result = self.launch(3, program)
            self.assert_status(result, 0)
            self.assertEqual(b"".join(result.stdout.split()), b"ok" * 3)  # launchers may run lines together
