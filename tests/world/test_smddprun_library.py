"""smddprun with ranks that use the library: scenario 58 and what a launch leaves. argv[1]: how often."""
# ctest: TIMEOUT 600 SOAK 300
import os
import signal
import sys
import time

import smddp_test
from smddp_test import SMDDPRUN, environment, processes_with, smddprun, start, until

REPEAT = int(sys.argv.pop(1)) if len(sys.argv) > 1 and sys.argv[1].isdigit() else 30
RANK = os.path.join(os.environ.get("SMDDP_BUILD_DIR", "build"), "tests", "world", "rank_program")


class Library(smddp_test.TestCase):
    def test_all_exit_after_init(self):
        for number in range(REPEAT):
            with self.subTest(run=number):
                self.assert_status(smddprun("-n", "2", RANK, "exit", "3"), 3)

    def test_one_exits_while_others_wait(self):
        for number in range(max(10, REPEAT // 10)):
            with self.subTest(run=number):
                result = smddprun("-n", "2", RANK, "exit-of-one", "1", "7")
                self.assert_status(result, 7)
                self.assertLess(result.seconds, 10)

    def test_one_crashes(self):
        result = smddprun("-n", "3", RANK, "signal-of-one", "2", str(int(signal.SIGSEGV)),
                           env=environment(ASAN_OPTIONS="handle_segv=0", UBSAN_OPTIONS="handle_segv=0", TSAN_OPTIONS="handle_segv=0"))
        self.assert_status(result, 139)
        self.assert_says(result, "rank 2 was ended by signal 11")
        self.assertLess(result.seconds, 10)

    def test_all_succeed(self):
        for ranks in (1, 2, 3, 4, 7):
            with self.subTest(ranks=ranks):
                self.assert_status(smddprun("-n", str(ranks), RANK, "sum"), 0)

    def test_eight_jobs_at_once(self):
        for _ in range(max(2, REPEAT // 30)):
            jobs = [start(SMDDPRUN, "-n", "2", RANK, "sum") for _ in range(8)]
            for job in jobs:
                out, err = job.communicate(timeout=60)
                self.assertEqual(job.returncode, 0, (out, err))

    def test_nothing_left(self):
        before = set(os.listdir("/dev/shm"))
        for number in range(max(4, REPEAT // 5)):
            marker = f"{os.getpid()}.{time.monotonic_ns()}"
            job = start(SMDDPRUN, "-n", "4", RANK, "forever", env=smddp_test.environment(SMDDP_TEST_MARKER=marker))
            for _ in range(4):
                self.assertIn(b"ready", job.stdout.readline())
            if number % 2:
                job.kill()
            else:
                victims = [pid for pid in processes_with("SMDDP_TEST_MARKER=" + marker) if self.is_rank(pid)]
                self.assertEqual(len(victims), 4)
                os.kill(victims[number % 4], signal.SIGKILL)
            out, err = job.communicate(timeout=20)
            self.assertEqual(job.returncode, -9 if number % 2 else 137, (out, err))
            self.assertTrue(until(lambda: not processes_with("SMDDP_TEST_MARKER=" + marker), 5))
        self.assertLessEqual(set(os.listdir("/dev/shm")), before)

    @staticmethod
    def is_rank(pid):
        with open(f"/proc/{pid}/environ", "rb") as file:
            return b"SMDDP_JOB_ID=" in file.read()

    def test_inside_smddprun_in_place(self):
        self.assert_status(smddprun("-n", "3", SMDDPRUN, RANK, "sum"), 0)


if __name__ == "__main__":
    smddp_test.main()
