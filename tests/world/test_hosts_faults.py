"""Ranks on several hosts that call different things, come late, are stopped, give up or die: one sentence, the same on every rank."""
# ctest: TIMEOUT 1200 LABELS failure
import re
import signal
import time
import unittest

import hosts
import rank_job
from rank_job import program
from test_hosts import job_on

WHY_NOT = hosts.why_not()
LAYOUTS = ((0, 1), (0, 0, 1, 1))


@unittest.skipIf(WHY_NOT, WHY_NOT)
class FaultsOnHosts(rank_job.TestCase):
    def said(self, job, word, rank):
        line = next((line for line in job.lines(rank) if line.startswith(word + " ")), None)
        self.assertIsNotNone(line, job.report())
        return line.split(" ")[1:]

    def faults(self, network, layout, *arguments):
        """All ranks end well; the one status and sentence that they got."""
        with job_on(network, layout, program("faults"), *[str(a) for a in arguments]) as job:
            self.assert_ranks_end(job)
        self.assert_nothing_left(job)
        answers = {" ".join(self.said(job, "got", rank)) for rank in job.ranks}
        self.assertEqual(len(answers), 1, job.report())
        return answers.pop().split(" ", 1)

    def test_mismatch(self):
        calls = {"count": "allreduce({half} × float32, sum)", "dtype": "allreduce({n} × int32, sum)", "op": "allreduce({n} × float32, max)",
                 "collective": "allgather({n} × float32)", "order": "reduce_scatter({n} × float32, sum)"}
        for layout in LAYOUTS:
            last = len(layout) - 1
            with hosts.Hosts(2) as network:
                for odd, elements in ((0, 1000), (last, 262144)):
                    for fault, call in calls.items():
                        with self.subTest(layout=layout, odd=odd, elements=elements, fault=fault):
                            status, sentence = self.faults(network, layout, fault, elements, odd)
                            usual = rf"rank \d called {re.escape(f'allreduce({elements} × float32, sum)')}"
                            other = rf"rank {odd} called {re.escape(call.format(n=elements, half=elements // 2 + 1))}"
                            first, second = (other, usual) if odd == 0 else (usual, other)
                            self.assertEqual(status, "SMDDP_ERR_MISMATCH")
                            self.assertRegex(sentence, f"^mismatch in operation #6 on comm 'world': {first}, {second}$")

    def test_other_root(self):
        for layout in LAYOUTS:
            with self.subTest(layout=layout), hosts.Hosts(2) as network:
                status, sentence = self.faults(network, layout, "root", 1000)
                self.assertEqual(status, "SMDDP_ERR_MISMATCH")
                self.assertRegex(sentence, r"^mismatch in operation #6 on comm 'world': rank (0 called .*root 0\), rank [13] called .*root 1\)|"
                                           r"1 called .*root 1\), rank 2 called .*root 0\))$")

    def test_every_collective(self):
        for layout in LAYOUTS:
            for elements in (1, 65536):
                with self.subTest(layout=layout, elements=elements), hosts.Hosts(2) as network:
                    with job_on(network, layout, program("mismatches"), str(elements)) as job:
                        self.assert_ranks_end(job, 240)

    def test_late_rank(self):
        for layout in LAYOUTS:
            for odd in (0, len(layout) - 1):
                with self.subTest(layout=layout, odd=odd), hosts.Hosts(2) as network:
                    status, sentence = self.faults(network, layout, "late", 1000, odd)
                    self.assertEqual(status, "SMDDP_ERR_TIMEOUT")
                    self.assertRegex(sentence, r"rank \d waited 1000 ms in allreduce\(1000 × float32, sum\) #6 on comm 'world': "
                                               rf"rank {odd} has not called it \(its last call is allreduce\(1000 × float32, sum\) #5\)")

    def test_stopped_rank_is_not_dead(self):
        for layout in LAYOUTS:
            for odd in (0, len(layout) - 1):
                with self.subTest(layout=layout, odd=odd), hosts.Hosts(2) as network:
                    with job_on(network, layout, program("faults"), "stop", "1000", str(odd)) as job:
                        others = [rank for rank in job.ranks if rank != odd]
                        self.assertTrue(smddp_test_until(lambda: all(any(l.startswith("got ") for l in job.lines(r)) for r in others), job), job.report())
                        job.ranks[odd].send_signal(signal.SIGCONT)
                        self.assert_ranks_end(job)
                    self.assert_nothing_left(job)
                    answers = {" ".join(self.said(job, "got", rank)) for rank in job.ranks}
                    self.assertEqual(len(answers), 1, job.report())
                    self.assertRegex(answers.pop(), rf"SMDDP_ERR_TIMEOUT timed out: .*: rank {odd} on host .* does not answer: its process is "
                                                    "stopped or its host hangs")

    def test_abort_and_another_start(self):
        for layout in LAYOUTS:
            for fault in ("abort", "rejoin"):
                with self.subTest(layout=layout, fault=fault), hosts.Hosts(2) as network:
                    begin = time.monotonic()
                    with job_on(network, layout, program("faults"), fault, "1000") as job:
                        self.assert_ranks_end(job)
                    self.assertLess(time.monotonic() - begin, 20)
                    for rank in job.ranks:
                        status, *sentence = self.said(job, "got", rank)
                        self.assertEqual(status, "SMDDP_ERR_ABORTED", job.report())
                        self.assertIn("rank 0 aborted comm 'world': enough waited", " ".join(sentence))
                    self.assert_nothing_left(job)

    def test_without_rank_0(self):
        for layout in ((0, 1, 2, 0), (0, 0, 1, 1), (0, 1, 2, 3, 0, 1, 2)):
            last = len(layout) - 1
            with self.subTest(layout=layout), hosts.Hosts(max(layout) + 1) as network:
                with job_on(network, layout, program("survivors")) as job:
                    self.assertTrue(job.wait_for("ready"), job.report())
                    time.sleep(0.2)
                    killed = time.monotonic()
                    job.ranks[0].kill()
                    survivors = range(1, len(layout))
                    self.assertTrue(job.wait_for("on", 30, survivors), job.report())
                    for rank in survivors:
                        when, status, *sentence = self.said(job, "world", rank)
                        self.assertEqual(status, "SMDDP_ERR_PEER_GONE", job.report())
                        self.assertIn("rank 0 died", " ".join(sentence))
                        self.assertLess(float(when) - killed, 5, job.report())
                    killed = time.monotonic()
                    job.ranks[last].kill()
                    self.assertEqual(job.wait(20), {rank: -signal.SIGKILL if rank in (0, last) else 3 for rank in job.ranks}, job.report())
                    for rank in range(1, last):
                        when, status, *sentence = self.said(job, "rest", rank)
                        self.assertEqual(status, "SMDDP_ERR_PEER_GONE", job.report())
                        self.assertIn(f"rank {last} died", " ".join(sentence))
                        self.assertLess(float(when) - killed, 5, job.report())
                        self.assertLess(float(self.said(job, "finalized", rank)[0]) - float(when), 5, job.report())
                self.assert_nothing_left(job)


def smddp_test_until(condition, job, seconds=15):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        job.read(0.1)
    return condition()


if __name__ == "__main__":
    rank_job.smddp_test.main()
