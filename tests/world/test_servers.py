"""Servers beside ranks on several hosts, which are network namespaces here: on hosts of their own and on those of ranks. Results; the way
of the bytes; servers and ranks that die or are stopped; calls that differ; and the end of a job, after which servers end too.

argv[1], all: every type and operation on every layout over every provider, where a part of it is enough otherwise.
"""
# ctest: TIMEOUT 600 SOAK all LABELS failure
import json
import os
import re
import signal
import sys
import tempfile
import time
import unittest

import hosts
import rank_job
import smddp_test
from rank_job import Job, program

ALL = len(sys.argv) > 1 and sys.argv[1] == "all" and bool(sys.argv.pop(1))
WHY_NOT = hosts.why_not()
RANK = os.path.join(smddp_test.BUILD, "tests", "world", "rank_program")
# Hosts of the ranks, and of the servers.
LAYOUTS = (((0, 1), (2,)), ((0, 1), (2, 3)), ((0, 0, 1, 1), (2, 3)), ((0, 0, 1, 1), (2,)), ((0, 0, 1, 1), (0, 1)), ((0, 0, 0, 1), (2,)), ((0, 1, 2), (3, 0)))
SERVERS = {"SMDDP_ALGORITHM": "allreduce:servers"}


def job_on(network, layout, *command, **env):
    ranks, servers = layout
    return rank_job.job_on(network, ranks + servers, *command, servers=len(servers), **SERVERS | env)


@unittest.skipIf(WHY_NOT, WHY_NOT)
class Servers(rank_job.TestCase):
    def setUp(self):
        super().setUp()
        self.network = hosts.Hosts(4)
        self.addCleanup(self.network.close)

    def bench(self, layout, *arguments, **env):
        """All results are right, and ranks and servers end well. The report."""
        with tempfile.NamedTemporaryFile() as report, job_on(self.network, layout, smddp_test.BENCH, "allreduce", *arguments, "-n", "1", "-w", "0", "-c", "1",
                                                              "--json", report.name, **env) as job:
            self.assert_ranks_end(job, 240 if ALL else 120)
            self.assertIn(b"# wrong elements: 0", job.output[0], job.report())
            return json.load(report)

    def test_results(self):
        for number, layout in enumerate(LAYOUTS):
            with self.subTest(layout=layout):
                sizes = ("-b", "4", "-e", "64K", "-f", "16", "--in-place", "both") if ALL else ("-b", "3000", "-e", "3000", "--in-place", str(number % 2))
                self.bench(layout, "-d", "all", "-o", "all", *sizes)

    def test_sizes(self):
        for provider in ("net", "tcp;ofi_rxm", "udp;ofi_rxd") if ALL else ("net", "tcp;ofi_rxm"):
            for layout in LAYOUTS if ALL else LAYOUTS[1:3]:
                with self.subTest(provider=provider, layout=layout):
                    largest = "1M" if provider.startswith("udp") else "64M" if ALL else "16M"
                    self.bench(layout, "-b", "4", "-e", largest, "-f", "64", "-d", "float32", SMDDP_OFI_PROVIDER=provider)

    # Each element goes once from a node to the servers and once back; the servers' hosts say so.
    def test_way_of_the_bytes(self):
        for layout, nodes in ((((0, 1), (2, 3)), 2), (((0, 0, 1, 1), (2, 3)), 2)):
            with self.subTest(layout=layout):
                bytes_, calls = 4 << 20, 2  # one of them checked
                before = [self.network.sent_bytes(host) for host in range(4)]
                self.bench(layout, "-b", str(bytes_), "-e", str(bytes_), SMDDP_CALIBRATION="off")
                sent = [self.network.sent_bytes(host) - was for host, was in zip(range(4), before)]
                for host in range(4):
                    share = bytes_ * calls * (1 if host < nodes else nodes / 2)
                    self.assertGreater(sent[host], share, sent)
                    self.assertLess(sent[host], 1.3 * share, sent)

    def test_job_is_described(self):
        with job_on(self.network, LAYOUTS[1], smddp_test.INFO, "--job", "--json") as job:
            self.assert_ranks_end(job)
            seen = json.loads(job.output[0])
        self.assertEqual((seen["size"], len(seen["servers"]), len(seen["nodes"])), (2, 2, 2))
        chosen = {choice["collective"]: choice["algorithm"] for choice in seen["choices"]}
        self.assertEqual(chosen["allreduce"], "servers")
        self.assertNotIn("servers", [name for collective, name in chosen.items() if collective != "allreduce"])

    def test_ranks_of_one_node(self):
        # The node group does it all, and the servers come and go.
        self.bench(((0, 0), (1, 0)), "-b", "4", "-e", "1M", "-f", "64")
        self.bench(((0,), (0,)), "-b", "4", "-e", "4K", "-f", "64")

    def forever(self, layout):
        job = job_on(self.network, layout, RANK, "forever")
        self.addCleanup(job.__exit__)
        self.assertTrue(job.wait_for("ready", ranks=range(len(layout[0]))), job.report())
        time.sleep(0.3)
        return job

    def assert_all_name(self, job, words, members):
        begin = time.monotonic()
        self.assertEqual(job.wait(20, members), dict.fromkeys(members, 1), job.report())
        self.assertLess(time.monotonic() - begin, 10)
        for member in members:
            self.assertRegex(job.errors[member].decode(), words, job.report())
        self.assert_nothing_left(job)

    def test_server_dies(self):
        for layout in LAYOUTS[1:3]:
            with self.subTest(layout=layout):
                job = self.forever(layout)
                victim = len(layout[0]) + 1
                job.ranks[victim].kill()
                self.assert_all_name(job, "server 1 died", [member for member in job.ranks if member != victim])

    def test_host_of_a_server_vanishes(self):
        layout = LAYOUTS[2]
        job = self.forever(layout)
        self.network.cut(3)
        self.assert_all_name(job, "server 1 died .no sign of life", [member for member in job.ranks if member != 5])

    def test_rank_dies(self):
        for victim in (0, 3):
            with self.subTest(victim=victim):
                job = self.forever(LAYOUTS[2])
                job.ranks[victim].kill()
                self.assert_all_name(job, f"rank {victim} died", [member for member in job.ranks if member != victim])

    def test_rank_dies_while_servers_are_idle(self):
        job = job_on(self.network, LAYOUTS[1], RANK, "exit-of-one", "1", "3")
        self.addCleanup(job.__exit__)
        self.assertEqual(job.wait(20), {0: 1, 1: 3, 2: 1, 3: 1}, job.report())
        for member in (0, 2, 3):
            self.assertIn("rank 1 died", job.errors[member].decode(), job.report())

    # A stopped server is not dead: the deadline says what did not come.
    def test_stopped_server(self):
        job = job_on(self.network, LAYOUTS[1], RANK, "forever", SMDDP_TIMEOUT_MS="3000")
        self.addCleanup(job.__exit__)
        self.assertTrue(job.wait_for("ready", ranks=(0, 1)), job.report())
        job.ranks[2].send_signal(signal.SIGSTOP)
        self.assertEqual(job.wait(30, (0, 1, 3)), {0: 1, 1: 1, 3: 1}, job.report())
        for member in (0, 1, 3):
            self.assertRegex(job.errors[member].decode(), r"timed out: rank \d waited 3000 ms in allreduce.*all have called it, but (nothing has come from server 0|server 0 takes nothing)", job.report())
        job.ranks[2].send_signal(signal.SIGCONT)
        self.assertEqual(job.wait(20)[2], 1, job.report())
        self.assert_nothing_left(job)

    def test_mismatch(self):
        calls = {"count": "allreduce({half} × float32, sum)", "dtype": "allreduce({n} × int32, sum)", "op": "allreduce({n} × float32, max)",
                 "collective": "allgather({n} × float32)", "order": "reduce_scatter({n} × float32, sum)"}
        for layout in LAYOUTS[1:3]:
            for odd, elements in ((0, 1000), (len(layout[0]) - 1, 262144)):
                for fault, call in calls.items():
                    with self.subTest(layout=layout, odd=odd, fault=fault):
                        ranks = range(len(layout[0]))
                        with job_on(self.network, layout, program("faults"), fault, str(elements), str(odd)) as job:
                            ended = job.wait(60)
                            self.assertEqual(ended, {member: 0 if member in ranks else 1 for member in job.ranks}, job.report())
                            self.assert_nothing_left(job)
                        answers = {line for rank in ranks for line in job.lines(rank) if line.startswith("got ")}
                        self.assertEqual(len(answers), 1, job.report())
                        odd_call = re.escape(call.format(n=elements, half=elements // 2 + 1))
                        self.assertRegex(answers.pop(), rf"got SMDDP_ERR_MISMATCH mismatch in operation #6 .*rank {odd} called {odd_call}")
                        for member in job.ranks:
                            if member not in ranks:
                                self.assertIn("mismatch in operation #6", job.errors[member].decode(), job.report())

    def test_late_rank(self):
        with job_on(self.network, LAYOUTS[1], program("faults"), "late", "1000", "1") as job:
            job.wait(60)
            for rank in (0, 1):
                self.assertRegex("\n".join(job.lines(rank)), r"got SMDDP_ERR_TIMEOUT .*rank 1 has not called it", job.report())

    def test_different_numbers_of_servers(self):
        with job_on(self.network, LAYOUTS[1], "sh", "-c", 'if [ $RANK = 1 ]; then export SMDDP_SERVERS=3; fi; exec "$@"', "sh", RANK, "sum", SMDDP_TIMEOUT_MS="8000") as job:
            self.assertEqual(job.wait(30), dict.fromkeys(range(4), 1), job.report())
            self.assertIn("SMDDP_SERVERS differs: '2' on rank 0, '3' on rank 1", job.errors[1].decode(), job.report())

    def test_missing_server(self):
        with Job(2, RANK, "sum", ranks=(0, 1, 2), servers=2, env={"SMDDP_TIMEOUT_MS": "2000"}) as job:
            self.assertEqual(job.wait(20), dict.fromkeys(range(3), 1), job.report())
            for member in range(3):
                self.assertIn("server 1 of 2 did not come", job.errors[member].decode(), job.report())


if __name__ == "__main__":
    rank_job.smddp_test.main()
