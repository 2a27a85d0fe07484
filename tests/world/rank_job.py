"""A job whose ranks are children of the test itself: nothing but the library sees to it that they end when one of them dies."""
import os
import select
import signal
import socket
import subprocess
import time

import hosts
import smddp_test

PROGRAMS = os.path.join(smddp_test.BUILD, "tests", "world", "programs")


def program(name):
    return os.path.join(PROGRAMS, name)


def named_leftovers():
    """Files in /dev/shm that bear the library's name. Sockets, memory and descriptors end with the processes that hold them."""
    return {name for name in os.listdir("/dev/shm") if "smddp" in name}


class Job:
    """Ranks 0 … size − 1 of one job, each running command. Leaves a with block with everything killed.

    wrap: a function of the rank that gives words to put before its command. env: added to the environment; port and job_id: chosen, so
    that a second job can meet where the first one did. address: of rank 0, which then listens by itself. servers: so many beside them, which
    are treated like ranks size, size + 1 and so on."""

    def __init__(self, size, *command, env=None, wrap=None, port=0, job_id=None, ranks=None, inherit=True, address=None, servers=0):
        inherit = inherit and address is None
        self.marker = f"{os.getpid()}.{time.monotonic_ns()}"
        self.job_id = job_id or self.marker
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", port))
        listener.listen(max(size, 8))
        self.port = listener.getsockname()[1]
        if not inherit:
            listener.close()
        common = smddp_test.environment(WORLD_SIZE=str(size), LOCAL_WORLD_SIZE=str(size), MASTER_ADDR=address or "127.0.0.1", MASTER_PORT=str(self.port),
                                        SMDDP_BOOTSTRAP_PORT=str(self.port), SMDDP_JOB_ID=self.job_id, SMDDP_TEST_MARKER=self.marker,
                                        **({"SMDDP_SERVERS": str(servers)} if servers else {}), **(env or {}))
        self.ranks = {}
        for rank in ranks if ranks is not None else range(size + servers):
            own = dict(common, RANK=str(rank), LOCAL_RANK=str(rank)) if rank < size else dict(common, SMDDP_SERVER=str(rank - size))
            words = command if rank < size else (smddp_test.SERVER,)
            fds = ()
            if rank == 0 and inherit:
                own["SMDDP_BOOTSTRAP_FD"] = str(listener.fileno())
                fds = (listener.fileno(),)
            self.ranks[rank] = subprocess.Popen([*(wrap(rank) if wrap else ()), *words], env=own, stdin=subprocess.DEVNULL,
                                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, pass_fds=fds)
        listener.close()
        self.output = {rank: b"" for rank in self.ranks}
        self.errors = {rank: b"" for rank in self.ranks}
        self.open = {}
        for rank, process in self.ranks.items():
            self.open[process.stdout.fileno()] = (self.output, rank)
            self.open[process.stderr.fileno()] = (self.errors, rank)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.ranks.values():
            if process.poll() is None:
                process.kill()
                process.send_signal(signal.SIGCONT)
            process.wait()
            process.stdout.close()
            process.stderr.close()

    def read(self, seconds):
        """Takes in what the ranks have written, for at most so long; returns at the first news."""
        ready, _, _ = select.select(list(self.open), [], [], max(0, seconds)) if self.open else ([], [], [])
        for fd in ready:
            data = os.read(fd, 65536)
            where, rank = self.open[fd]
            if data:
                where[rank] += data
            else:
                del self.open[fd]
        if not self.open and not ready:
            time.sleep(min(0.01, max(0, seconds)))

    def wait_for(self, line, seconds=60, ranks=None):
        """Until every rank has written the line. False: not in time, or a rank ended before."""
        end = time.monotonic() + seconds
        ranks = list(self.ranks) if ranks is None else ranks
        while True:
            if all(line in self.output[rank].decode(errors="replace").split("\n") for rank in ranks):
                return True
            if time.monotonic() > end or not self.open:
                return False
            self.read(min(1.0, end - time.monotonic()))

    def wait(self, seconds=60, ranks=None):
        """Until the ranks have ended. Returns {rank: exit status}, with None for one that has not."""
        end = time.monotonic() + seconds
        ranks = list(self.ranks) if ranks is None else ranks
        while any(self.ranks[rank].poll() is None for rank in ranks) and time.monotonic() < end:
            self.read(min(0.02, end - time.monotonic()))
        for _ in range(100):
            if not self.open:
                break
            self.read(0.001)
        return {rank: self.ranks[rank].poll() for rank in ranks}

    def lines(self, rank):
        return self.output[rank].decode(errors="replace").splitlines()

    def report(self):
        """What each rank wrote and how it ended, for a failing test."""
        return "\n".join(f"rank {rank}: ended {process.poll()}, wrote {self.output[rank][-1500:].decode(errors='replace')!r} and "
                         f"{self.errors[rank][-1500:].decode(errors='replace')!r}" for rank, process in self.ranks.items())


def job_on(network, layout, *command, servers=0, **env):
    """A job over hosts (hosts.py), layout being the host of each rank and then of each server."""
    return Job(len(layout) - servers, *command, wrap=lambda member: network.wrap(layout[member]), address=hosts.FIRST, servers=servers, env=env)


class TestCase(smddp_test.TestCase):
    """Adds: run a rank program to its end; nothing is left of a job."""

    def setUp(self):
        self.leftovers = named_leftovers()

    def assert_nothing_left(self, job):
        self.assertTrue(smddp_test.until(lambda: not smddp_test.processes_with(job.marker), 5),
                        f"processes left: {smddp_test.processes_with(job.marker)}\n{job.report()}")
        left = named_leftovers() - self.leftovers
        smddp_test.until(lambda: not left & named_leftovers(), 5)
        self.assertEqual(left & named_leftovers(), set())

    def assert_ranks_end(self, job, seconds=60, status=0):
        self.assertEqual(job.wait(seconds), {rank: status for rank in job.ranks}, job.report())

    def run_ranks(self, size, name, *arguments, seconds=60, status=0, **options):
        """All ranks of the program end with the status in time, and leave nothing. Returns the job for a look at its output."""
        with Job(size, program(name), *[str(a) for a in arguments], **options) as job:
            self.assert_ranks_end(job, seconds, status)
        self.assert_nothing_left(job)
        return job
