"""Nothing outlives a job: not ranks, not their children, not those that hide in sessions of their own, however the job ends.

argv[1]: how often the shorter cases run.
"""
# ctest: TIMEOUT 300 SOAK 100
import os
import signal
import sys
import time

import smddp_test
from smddp_test import SMDDPRUN, processes_with, start, until

REPEAT = int(sys.argv.pop(1)) if len(sys.argv) > 1 and sys.argv[1].isdigit() else 10

# A child, a grandchild whose parent is gone, and one in a session of its own.
FAMILY = "sleep 300 & (sleep 300 &) ; setsid sleep 300 & setsid sh -c '(sleep 300 &)' ; sleep 0.1; "


def shm_entries():
    return set(os.listdir("/dev/shm"))


class Cleanup(smddp_test.TestCase):
    def setUp(self):
        self.marker = f"SMDDP_TEST_MARKER={os.getpid()}.{time.monotonic_ns()}"
        self.env = smddp_test.environment(**dict([self.marker.split("=")]))

    def job(self, script, *options, ranks=2):
        return start(SMDDPRUN, "-n", str(ranks), *options, "sh", "-c", script, env=self.env)

    def ready(self, job, ranks=2):
        for _ in range(ranks):
            self.assertIn(b"ready", job.stdout.readline())
        self.assertGreaterEqual(len(processes_with(self.marker)), 5 * ranks)

    def assert_nothing_left(self, seconds=5.0):
        self.assertTrue(until(lambda: not processes_with(self.marker), seconds), "left over: " + str(processes_with(self.marker)))

    def close(self, job):
        job.stdout.close()
        job.stderr.close()

    def test_normal_end(self):
        for status in (0, 1):
            job = self.job(FAMILY + f"echo ready; exit {status}")
            out, err = job.communicate(timeout=20)
            self.assertEqual(job.returncode, status, (out, err))
            # The launcher itself has waited for them.
            self.assertEqual(processes_with(self.marker), [])

    def test_children_that_ignore_sigterm(self):
        job = self.job("sh -c \"trap '' TERM; while :; do sleep 0.1; done\" & sleep 0.2; exit 0", "--grace", "0.5")
        job.communicate(timeout=20)
        self.assertEqual(job.returncode, 0)
        self.assertEqual(processes_with(self.marker), [])

    def kill_launcher(self, end):
        for number in range(REPEAT):
            with self.subTest(run=number):
                job = self.job(FAMILY + "echo ready; sleep 300")
                self.ready(job)
                end(job)
                job.wait(10)
                self.assert_nothing_left()
                self.close(job)

    def test_killed_launcher(self):
        self.kill_launcher(lambda job: job.kill())

    def test_killed_process_group_of_launcher(self):
        self.kill_launcher(lambda job: os.killpg(job.pid, signal.SIGKILL))

    def test_killed_keeper(self):
        job = self.job(FAMILY + "echo ready; sleep 300")
        self.ready(job)
        with open(f"/proc/{job.pid}/task/{job.pid}/children") as file:
            keeper = int(file.read().split()[0])
        os.kill(keeper, signal.SIGKILL)
        out, err = job.communicate(timeout=10)
        self.assertEqual(job.returncode, 125, (out, err))
        self.assertIn(b"was killed", err)
        self.assertEqual(processes_with(self.marker), [])

    def test_killed_launcher_and_keeper(self):
        # The last line of defence: ranks die with their parent.
        job = self.job("echo ready; exec sleep 300")
        job.stdout.readline()
        job.stdout.readline()
        with open(f"/proc/{job.pid}/task/{job.pid}/children") as file:
            keeper = int(file.read().split()[0])
        os.kill(job.pid, signal.SIGSTOP)
        os.kill(keeper, signal.SIGKILL)
        job.kill()
        job.wait(10)
        self.assert_nothing_left()
        self.close(job)

    def test_killed_while_starting(self):
        for number in range(REPEAT):
            with self.subTest(run=number):
                job = self.job("sleep 300", ranks=8)
                time.sleep(0.001 * (number % 10))
                job.kill()
                job.wait(10)
                self.assert_nothing_left()
                self.close(job)

    def test_killed_by_each_signal(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
            with self.subTest(signal=number):
                job = self.job(FAMILY + "echo ready; sleep 300")
                self.ready(job)
                job.send_signal(number)
                out, err = job.communicate(timeout=20)
                self.assertNotEqual(job.returncode, 0, (out, err))
                self.assertEqual(processes_with(self.marker), [])

    def test_no_shared_memory_left(self):
        before = shm_entries()
        for script in ("exit 0", "exit 1", "kill -ABRT $$", "kill -TERM $$", "[ $RANK = 1 ] && kill -KILL $$; sleep 60"):
            for _ in range(max(2, REPEAT // 10)):
                self.job(script).communicate(timeout=20)
        self.assertLessEqual(shm_entries(), before)

    def test_descriptors_of_ranks(self):
        # What a rank inherits beyond standard streams: the listener of rank 0, nothing else.
        result = smddp_test.smddprun("-n", "3", "ls", "/proc/self/fd", env=self.env)
        numbers = {rank: [line.split()[1] for line in result.stdout.splitlines() if line.startswith(b"[%d]" % rank)] for rank in range(3)}
        # ls itself has the folder open.
        self.assertEqual({rank: len(found) for rank, found in numbers.items()}, {0: 5, 1: 4, 2: 4}, numbers)


if __name__ == "__main__":
    smddp_test.main()
