"""Ranks that leave while others still want something of them, with and without a word (rows 25, 28, 56); what survivors can do then.

argv[1]: how often the short cases run.
"""
# ctest: TIMEOUT 300 SOAK 500 LABELS failure
import re
import signal
import sys
import time

import rank_job
from rank_job import Job, program

REPEAT = int(sys.argv.pop(1)) if len(sys.argv) > 1 and sys.argv[1].isdigit() else 50


class Departures(rank_job.TestCase):
    def test_before_first_use(self):
        for size in (2, 3):
            with self.subTest(size=size), Job(size, program("departures"), "exit") as job:
                self.assertEqual(job.wait(20), {rank: 0 if rank else 86 for rank in range(size)}, job.report())
                self.assert_nothing_left(job)

    def test_stopped_before_first_use(self):
        with Job(2, program("departures"), "stop") as job:
            self.assertEqual(job.wait(20, ranks=[1]), {1: 0}, job.report())
            job.ranks[0].send_signal(signal.SIGCONT)
            self.assertEqual(job.wait(20, ranks=[0]), {0: 86}, job.report())

    def test_return_without_finalize(self):
        for leaver in (0, 1):
            with self.subTest(leaver=leaver):
                self.run_ranks(2, "departures", "return", leaver, seconds=10)

    def test_return_without_finalize_under_the_launcher(self):
        result = rank_job.smddp_test.smddprun("-n", "2", program("departures"), "return", "1", timeout=20)
        self.assert_status(result, 0)

    def test_after_the_last_receive(self):
        for number in range(REPEAT):
            with self.subTest(run=number):
                self.run_ranks(2, "departures", "received", seconds=10)

    def test_one_joins_late(self):
        for late in (0, 1, 2):
            delay = lambda rank: ("sh", "-c", 'sleep 2; exec "$@"', "sh") if rank == late else ()
            with self.subTest(late=late):
                begin = time.monotonic()
                self.run_ranks(3, "rounds", 10, wrap=delay)
                self.assertLess(time.monotonic() - begin, 10)

    def test_killed_during_init(self):
        for number in range(REPEAT // 5):
            dead = number % 4
            with self.subTest(run=number, dead=dead), Job(4, program("rounds"), "100000000", env={"SMDDP_TIMEOUT_MS": "3000"}) as job:
                time.sleep(0.003 * (number % 20))
                job.ranks[dead].kill()
                self.assertEqual(job.wait(12), {rank: -signal.SIGKILL if rank == dead else 1 for rank in range(4)}, job.report())
                # Those who only found nobody to meet cannot know more.
                told = [rank for rank in range(4) if re.search(rf"ranks?(\(s\))? (\d+, )*{dead}\b", job.errors[rank].decode().partition("SMDDP_ERR_")[2])]
                self.assertGreaterEqual(len(told), 2, job.report())

    def test_callbacks(self):
        for size in (2, 4):
            with self.subTest(size=size), Job(size, program("departures"), "callbacks") as job:
                self.assertEqual(job.wait(20), {rank: -signal.SIGKILL if rank == size - 1 else 0 for rank in range(size)}, job.report())

    def test_a_new_job_in_the_same_process(self):
        for size in (2, 3, 4):
            with Job(1, "true") as free:
                port = free.port
                free.wait()
            with self.subTest(size=size), Job(size, program("departures"), "again", str(port)) as job:
                self.assertEqual(job.wait(20), {rank: -signal.SIGKILL if rank == size - 1 else 0 for rank in range(size)}, job.report())
                self.assert_nothing_left(job)


if __name__ == "__main__":
    rank_job.smddp_test.main()
