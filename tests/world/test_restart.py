"""A job that was killed does not stand in the way of the next one with the same job id and port, nor fills /dev/shm (rows 37, 38, 49).

argv[1]: how many restarts.
"""
# ctest: TIMEOUT 300 SOAK 50 LABELS failure
import os
import signal
import socket
import sys
import time

import rank_job
from rank_job import Job, program
from smddp_test import BUILD, SMDDPRUN, start

RESTARTS = int(sys.argv.pop(1)) if len(sys.argv) > 1 and sys.argv[1].isdigit() else 10
RANK_PROGRAM = os.path.join(BUILD, "tests", "world", "rank_program")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def shm_use():
    used = os.statvfs("/dev/shm")
    return (used.f_blocks - used.f_bfree) * used.f_frsize


class Restart(rank_job.TestCase):
    def test_same_port_and_job_id(self):
        port = free_port()
        for number in range(RESTARTS):
            with self.subTest(run=number):
                if number % 2:
                    self.run_ranks(3, "rounds", 20, port=port, job_id="same", inherit=False)
                    continue
                with Job(3, program("mixed"), "7", port=port, job_id="same", inherit=False) as job:
                    self.assertTrue(job.wait_for("ready"), job.report())
                    time.sleep(0.02 * (number % 5))
                    for process in job.ranks.values():
                        process.kill()
                    job.wait(10)
                    self.assert_nothing_left(job)

    def test_beside_a_living_job(self):
        # The same program and port, another job: it must not meet the ranks of the first one, nor take its memory.
        with Job(2, program("mixed"), "1", job_id="first") as first:
            self.assertTrue(first.wait_for("ready"), first.report())
            for _ in range(3):
                self.run_ranks(2, "rounds", 20, job_id="first")
                self.assertEqual([process.poll() for process in first.ranks.values()], [None, None], first.report())

    def test_port_in_use(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = taken.getsockname()[1]
            with Job(1, "true") as spare:
                spare.wait()
            begin = time.monotonic()
            environment = rank_job.smddp_test.environment(RANK="0", WORLD_SIZE="2", MASTER_ADDR="127.0.0.1", MASTER_PORT="1",
                                                          SMDDP_BOOTSTRAP_PORT=str(port), SMDDP_BOOTSTRAP_ADDRESS="127.0.0.1")
            result = rank_job.smddp_test.run(program("rounds"), "1", env=environment, timeout=30)
            self.assert_status(result, 1)
            self.assertLess(time.monotonic() - begin, 2)
            self.assertRegex(result.stderr.decode(), rf"{port}.*in use|in use.*{port}")

    def test_launchers_at_once(self):
        jobs = [start(SMDDPRUN, "-n", "2", program("rounds"), "20") for _ in range(8)]
        for job in jobs:
            out, err = job.communicate(timeout=120)
            self.assertEqual(job.returncode, 0, (out, err))

    def test_shared_memory_of_every_end(self):
        before = shm_use()
        ends = {"normal": ("sum",), "exit 1": ("exit", "1"), "abort": ("signal-of-one", "1", str(int(signal.SIGABRT))),
                "SIGTERM": ("signal-of-one", "0", str(int(signal.SIGTERM))), "SIGKILL": ("signal-of-one", "1", str(int(signal.SIGKILL)))}
        for name, arguments in ends.items():
            for number in range(max(2, RESTARTS * 2 // 5)):
                with self.subTest(end=name, run=number), Job(3, RANK_PROGRAM, *arguments) as job:
                    self.assertNotIn(None, job.wait(20).values(), job.report())
                    self.assert_nothing_left(job)
        with Job(2, RANK_PROGRAM, "sum", ranks=[0], env={"SMDDP_TIMEOUT_MS": "500"}) as job:  # rank 1 never comes
            self.assertEqual(job.wait(20), {0: 1}, job.report())
            self.assertIn(b"SMDDP", job.errors[0] + b"SMDDP")
            self.assertRegex(job.errors[0].decode(), r"rank(\(s\)|s)? 1\b", job.report())
            self.assert_nothing_left(job)
        launcher = start(SMDDPRUN, "-n", "2", RANK_PROGRAM, "forever")
        launcher.stdout.readline()
        launcher.kill()
        launcher.communicate(timeout=20)
        self.assertTrue(rank_job.smddp_test.until(lambda: shm_use() <= before + (1 << 20), 5),
                        f"{shm_use()} bytes of /dev/shm in use, {before} before: {os.listdir('/dev/shm')}")


if __name__ == "__main__":
    rank_job.smddp_test.main()
