"""A late, stopped or mismatched rank, or an abort, is an error on every rank that names who and what, in time (rows 23, 25, 26)."""
# ctest: TIMEOUT 240 LABELS failure
import signal
import time

import rank_job
from rank_job import Job, program


class Faults(rank_job.TestCase):
    def got(self, job, ranks=None):
        answers = {}
        for rank in job.ranks if ranks is None else ranks:
            line = next((l for l in job.lines(rank) if l.startswith("got ")), None)
            self.assertIsNotNone(line, job.report())
            _, status, sentence = line.split(" ", 2)
            answers[rank] = (status, sentence)
        return answers

    def test_mismatch(self):
        words = {"count": "float32", "dtype": "int32", "op": "max", "collective": "allgather", "root": "broadcast"}
        for fault, word in words.items():
            for size in (2, 3, 4):
                for elements in (1, 256, 262144):
                    with self.subTest(fault=fault, size=size, elements=elements):
                        if fault == "count" and elements == 1:
                            continue  # half of 1, and 1 more, is 1
                        job = self.run_ranks(size, "faults", fault, elements)
                        for rank, (status, sentence) in self.got(job).items():
                            self.assertEqual(status, "SMDDP_ERR_MISMATCH", job.report())
                            self.assertIn(word, sentence)
                            self.assertRegex(sentence, r"operation #\d+ on comm 'world': rank \d called .*, rank \d called ")

    def test_late_rank(self):
        for size in (2, 4):
            with self.subTest(size=size):
                job = self.run_ranks(size, "faults", "late", 1000)
                for rank, (status, sentence) in self.got(job).items():
                    self.assertEqual(status, "SMDDP_ERR_TIMEOUT", job.report())
                    self.assertIn(f"rank {size - 1} has not called it", sentence)
                    self.assertIn("allreduce(1000 × float32, sum)", sentence)

    def test_stopped_rank_is_not_dead(self):
        with Job(2, program("faults"), "stop", "1") as job:
            job.wait(10, ranks=[0])
            status, sentence = self.got(job, [0])[0]
            self.assertEqual(status, "SMDDP_ERR_TIMEOUT", job.report())
            self.assertRegex(sentence, "rank 1 has not called it .*stopped")
            job.ranks[1].send_signal(signal.SIGCONT)
            self.assert_ranks_end(job)
            status, sentence = self.got(job, [1])[1]
            self.assertIn(status, ("SMDDP_ERR_TIMEOUT", "SMDDP_ERR_PEER_GONE"), job.report())
            self.assertIn("rank 0", sentence)
        self.assert_nothing_left(job)

    def test_abort_wakes_everybody(self):
        for size in (2, 4):
            with self.subTest(size=size):
                begin = time.monotonic()
                job = self.run_ranks(size, "faults", "abort", 1)
                self.assertLess(time.monotonic() - begin, 20)
                for rank, (status, sentence) in self.got(job).items():
                    self.assertEqual(status, "SMDDP_ERR_ABORTED", job.report())
                    self.assertIn("rank 0 aborted comm 'world': enough waited", sentence)


if __name__ == "__main__":
    rank_job.smddp_test.main()
