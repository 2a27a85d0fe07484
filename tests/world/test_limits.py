"""Many communicators, contexts, registrations and few descriptors: nothing runs out, or an error says so on every rank (rows 31, 32, 40, 43,
68).

argv[1]: how many communicators.
"""
# ctest: TIMEOUT 300 SOAK 5000 LABELS soak
import os
import sys

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

    def test_hard_limit_of_descriptors(self):
        for ranks in (None, (0,), (3,)):
            for limit in (12, 16, 20, 24, 32, 48):
                with self.subTest(ranks=ranks, limit=limit), \
                        Job(16, program("descriptors"), wrap=limited(f"ulimit -n {limit}", ranks), env={"SMDDP_TIMEOUT_MS": "20000"}) as job:
                    ended = job.wait(40)
                    self.assertTrue(set(ended.values()) <= {0, 1}, job.report())
                    if 1 in ended.values():
                        told = b"".join(job.errors.values()).decode()
                        self.assertRegex(told, r"descriptor|open files|ulimit -n", job.report())
                        self.assertEqual([rank for rank, status in ended.items() if status == 1 and not job.errors[rank]], [], job.report())
                    self.assert_nothing_left(job)


if __name__ == "__main__":
    rank_job.smddp_test.main()
