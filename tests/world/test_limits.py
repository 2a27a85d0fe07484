"""Many communicators, contexts, registrations and few descriptors: nothing runs out, or an error says so on every rank (rows 31, 32, 40, 43,
68, 74).

argv[1]: how many communicators.
"""
# ctest: TIMEOUT 300 SOAK 5000
import os
import re
import sys
import time
import unittest

import rank_job
from rank_job import Job, program

COMMUNICATORS = int(sys.argv.pop(1)) if len(sys.argv) > 1 and sys.argv[1].isdigit() else 500


def limited(limits, ranks=None):
    """Words that run a command with the shell's limits, on the ranks or on all."""
    return lambda rank: ("sh", "-c", limits + ' && exec "$@"', "sh") if ranks is None or rank in ranks else ()


class Limits(rank_job.TestCase):
    def test_communicators(self):
        for size in (2, 4):
            with self.subTest(size=size):
                self.run_ranks(size, "splits", COMMUNICATORS, wrap=limited("ulimit -n 256"), seconds=240)

    def test_communicators_without_room(self):
        # So small a heap that it ends before the communicators do.
        job = self.run_ranks(2, "splits", 5000, env={"SMDDP_HEAP_BYTES": "256M"}, seconds=120)
        made = int(job.lines(0)[0].split()[1])
        self.assertLess(made, 5000)

    def test_limit_of_file_sizes(self):
        # Memory without a name has a length as files have: a limit is an error in words on both ranks and no signal.
        with Job(2, program("rounds"), "1", wrap=limited("ulimit -f 100")) as job:
            self.assertEqual(job.wait(30), {0: 1, 1: 1}, job.report())
            self.assertIn(b"ulimit -f", job.errors[0])
            self.assertIn(b"ulimit -f", job.errors[1])

    def test_contexts(self):
        grows = 0 if os.environ.get("SMDDP_SANITIZER") else 1024
        for size in (1, 2, 3):
            with self.subTest(size=size):
                self.run_ranks(size, "contexts", max(10, COMMUNICATORS // 25), grows, seconds=120)

    def test_registrations(self):
        for size in (1, 2, 3):
            with self.subTest(size=size):
                self.run_ranks(size, "registrations")

    def test_soft_limit_of_descriptors(self):
        job = self.run_ranks(16, "descriptors", wrap=limited("ulimit -Sn 64 && ulimit -Hn 4096"), seconds=60)
        self.assertIn("limit ", job.lines(0)[0])

    def test_descriptors_grow_with_ranks_at_most(self):
        used = {size: int(self.run_ranks(size, "descriptors").lines(0)[0].split()[1]) for size in (2, 4, 8, 16)}
        # Of every other rank on this node: a doorbell, a connection, a process handle; and one that is being opened at most.
        for size, count in used.items():
            self.assertLessEqual(count - used[2], 4 * (size - 2), used)

    def test_descriptors_of_the_program(self):
        # What the program has open counts: too low a soft limit is raised, too low a hard one is said at once.
        self.run_ranks(4, "descriptors", 200, wrap=limited("ulimit -Sn 216 && ulimit -Hn 4096"))
        with Job(4, program("descriptors"), "200", wrap=limited("ulimit -n 216")) as job:
            self.assert_ranks_end(job, 10, 1)
            self.assertRegex(job.errors[1].decode(), r"rank 1 has 2\d\d file descriptors open and needs up to \d+ more", job.report())

    def test_as_many_descriptors_as_the_sentence_names(self):
        for size in (2, 16, 33):
            with self.subTest(size=size):
                with Job(size, program("descriptors"), wrap=limited(f"ulimit -n {size + 14}; export SMDDP_HEAP_BYTES=256M"), env={"SMDDP_TIMEOUT_MS": "20000"}) as job:
                    self.assert_ranks_end(job, 40, 1)
                    named = [re.search(rb"(\d+) together; the limit is (\d+)", errors) for errors in job.errors.values()]
                enough = max(int(match[1]) for match in named if match)
                self.run_ranks(size, "descriptors", wrap=limited(f"ulimit -n {enough}; export SMDDP_HEAP_BYTES=256M"))
                self.assertLessEqual(enough, 4 * size + 24, "the sentence asks for far more than is used")

    def test_small_stacks(self):
        # Threads get the soft limit of the stack: 128 KiB are enough, as other C libraries have it.
        for name, *arguments in (("orders", 20), ("contexts", 5, 0), ("rounds", 50), ("forked", 10)):
            with self.subTest(program=name):
                self.run_ranks(3, name, *arguments, wrap=limited("ulimit -s 128"), seconds=120)
        result = rank_job.smddp_test.run("sh", "-c", 'ulimit -s 128 && exec "$0"', rank_job.smddp_test.INFO)
        self.assert_status(result, 0)

    @unittest.skipIf(os.environ.get("SMDDP_SANITIZER"), "sanitizers need memory of their own")
    def test_no_more_threads(self):
        job = self.run_ranks(2, "without_threads")
        self.assertIn(b"cannot start the progress thread", job.errors[0])

    def test_hard_limit_of_descriptors(self):
        # Too few to share memory: a rank that cannot is no reason for the others to wait until their deadline.
        for ranks in (None, (0,), (3,)):
            with self.subTest(ranks=ranks):
                begin = time.monotonic()
                with Job(16, program("descriptors"), wrap=limited("ulimit -n 24", ranks), env={"SMDDP_TIMEOUT_MS": "20000"}) as job:
                    self.assert_ranks_end(job, 40, 1)
                    self.assertLess(time.monotonic() - begin, 6, job.report())
                    for rank in job.ranks if ranks is None else ranks:
                        self.assertRegex(job.errors[rank].decode(), r"file descriptors .*the limit is 24 .*ulimit -n", job.report())
                    for rank in ranks or ():
                        told = [r for r, errors in job.errors.items() if r != rank and f"rank {rank} ".encode() in errors]
                        self.assertEqual(len(told), 15, job.report())

    @unittest.skipIf(os.environ.get("SMDDP_SANITIZER") == "undefined",
                     "UBSan itself opens a pipe to look at an exception, and takes the lack of descriptors for a bad object")
    def test_hard_limit_before_ranks_have_met(self):
        # Rank 0 cannot even take the others in: those it never heard of cannot tell it from one that is late.
        with Job(16, program("descriptors"), wrap=limited("ulimit -n 12"), env={"SMDDP_TIMEOUT_MS": "2000"}) as job:
            self.assert_ranks_end(job, 20, 1)
            self.assertRegex(job.errors[0].decode(), r"Too many open files.*ulimit -n", job.report())
            self.assertEqual([rank for rank in job.ranks if not job.errors[rank]], [], job.report())


if __name__ == "__main__":
    rank_job.smddp_test.main()
