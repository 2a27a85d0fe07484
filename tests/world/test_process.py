"""What a process may do beside the library: fork, take signals, run on one processor (rows 34, 35, 65).

argv[1]: per cent of the repetitions.
"""
# ctest: TIMEOUT 300 SOAK 100
import os
import signal
import sys
import time

import rank_job
from rank_job import Job, program

PERCENT = int(sys.argv.pop(1)) if len(sys.argv) > 1 and sys.argv[1].isdigit() else 10
ALLOWED = sorted(os.sched_getaffinity(0))


def on_processors(*numbers):
    return lambda rank: ("taskset", "-c", ",".join(str(n) for n in numbers))


class Process(rank_job.TestCase):
    def test_fork(self):
        for size in (1, 2, 3):
            with self.subTest(size=size):
                self.run_ranks(size, "forked", max(10, PERCENT), seconds=60)

    def test_timer_signals(self):
        for timer in ("real", "prof"):
            for size in (2, 4):
                with self.subTest(timer=timer, size=size):
                    self.run_ranks(size, "interrupted", timer, 500, seconds=60)

    def test_blocked_signals(self):
        for size in (2, 3):
            self.run_ranks(size, "signalfd")

    def test_interrupted_calls(self):
        library = rank_job.smddp_test.preload("interrupt")
        if not library:
            self.skipTest(rank_job.smddp_test.NO_PRELOAD)
        total = {}
        for every in (2, 5):
            env = {"LD_PRELOAD": library, "SMDDP_TEST_INTERRUPT": str(every)}
            for name, *arguments in (("rounds", 100), ("contexts", max(10, PERCENT), 0), ("orders", 10)):
                with self.subTest(every=every, program=name):
                    job = self.run_ranks(3, name, *arguments, env=env, seconds=120)
                    for rank in job.ranks:
                        words = job.lines(rank)[-1].split()
                        self.assertEqual(words[0], "interrupted", job.report())
                        for function, count in zip(words[1::2], words[2::2]):
                            total[function] = total.get(function, 0) + int(count)
            with self.subTest(every=every, program="departures"), Job(3, program("departures"), "exit", env=env) as job:
                self.assertEqual(job.wait(20), {0: 86, 1: 0, 2: 0}, job.report())
            with self.subTest(every=every, program="timeouts"):
                self.run_ranks(2, "timeouts", env=env | {"SMDDP_TIMEOUT_MS": "1500"})
        # A function that is not called any more needs a look at what took its place.
        self.assertEqual([function for function, count in total.items() if not count], [], total)

    def test_stopped_and_continued(self):
        with Job(2, program("rounds"), str(max(2000, 200 * PERCENT))) as job:
            for number in range(20):
                process = job.ranks[number % 2]
                if process.poll() is not None:
                    break
                process.send_signal(signal.SIGSTOP)
                time.sleep(0.01)
                process.send_signal(signal.SIGCONT)
                time.sleep(0.005)
            self.assert_ranks_end(job, 120)

    def test_four_ranks_on_one_processor(self):
        job = self.run_ranks(4, "waiting", "loops", wrap=on_processors(ALLOWED[0]), seconds=120)
        for rank in job.ranks:
            _, small, large = job.lines(rank)[0].split()
            self.assertLess(float(small), 5, job.report())
            self.assertLess(float(large), 30, job.report())

    def test_idle_rank_sleeps(self):
        for wrap in (None, on_processors(ALLOWED[0])):
            with self.subTest(confined=bool(wrap)):
                job = self.run_ranks(4, "waiting", "idle", 10, wrap=wrap, seconds=60)
                for rank in (1, 2, 3):
                    self.assertLess(float(job.lines(rank)[0].split()[1]), 2, job.report())


if __name__ == "__main__":
    rank_job.smddp_test.main()
