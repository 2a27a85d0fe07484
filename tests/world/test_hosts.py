"""Ranks on several hosts, which are network namespaces here: results, the way of the bytes, idle ranks, a cable pulled out.

argv[1], all: every collective on every layout over every provider, where a part of it is enough otherwise.
"""
# ctest: TIMEOUT 600 SOAK all LABELS failure
import os
import sys
import time
import unittest

import hosts
import rank_job
import smddp_test
from rank_job import job_on, program

ALL = len(sys.argv) > 1 and sys.argv[1] == "all" and bool(sys.argv.pop(1))
WHY_NOT = hosts.why_not()
BENCH = os.path.join(smddp_test.BUILD, "bin", "smddp-bench")
LAYOUTS = ((0, 1), (0, 0, 1, 1), (0, 0, 0, 1), (0, 1, 2))
COLLECTIVES = ("allreduce", "broadcast", "reduce", "allgather", "reduce_scatter", "alltoall", "gather", "scatter", "barrier", "sendrecv")
# The largest size, by all means and else, and seconds for one collective.
PROVIDERS = {"net": (64 << 20, 1 << 20, 120), "tcp;ofi_rxm": (64 << 20, 1 << 20, 120), "udp;ofi_rxd": (1 << 20, 16 << 10, 30)}


@unittest.skipIf(WHY_NOT, WHY_NOT)
class Hosts(rank_job.TestCase):
    def setUp(self):
        super().setUp()
        self.network = hosts.Hosts(3)
        self.addCleanup(self.network.close)

    def run_bench(self, layout, collective, largest, seconds=120, **env):
        """All results are right, and the bytes of the largest calls went over the wire."""
        before = [self.network.sent_bytes(host) for host in set(layout)]
        with job_on(self.network, layout, BENCH, collective, "-b", "4", "-e", str(largest), "-f", "64", "-n", "2", "-w", "1", "-c", "1", **env) as job:
            self.assert_ranks_end(job, seconds)
            self.assertIn(b"# wrong elements: 0", job.output[0], job.report())
        sent = sum(self.network.sent_bytes(host) for host in set(layout)) - sum(before)
        if collective != "barrier":
            self.assertGreater(sent, largest / 2, job.report())
        return job

    def run_provider(self, provider):
        most, some, seconds = PROVIDERS[provider]
        for layout in LAYOUTS:
            for collective in COLLECTIVES if ALL else ("allreduce", "alltoall"):
                with self.subTest(provider=provider, layout=layout, collective=collective):
                    job = self.run_bench(layout, collective, most if ALL else some, seconds, SMDDP_OFI_PROVIDER=provider, SMDDP_LOG="info")
                    said = (job.errors[0] + job.output[0]).decode()
                    self.assertIn(f"{len(layout)} ranks on {max(layout) + 1} nodes", said)

    def test_net(self):
        self.run_provider("net")

    def test_tcp(self):
        self.run_provider("tcp;ofi_rxm")

    def test_udp(self):
        self.run_provider("udp;ofi_rxd")

    def test_every_collective(self):
        for collective in COLLECTIVES:
            with self.subTest(collective=collective):
                self.run_bench((0, 0, 1), collective, 1 << 20)

    def test_idle_ranks_sleep(self):
        # ThreadSanitizer makes each wake-up several times as dear.
        with open(os.path.join(smddp_test.BUILD, "lib", "libsmddp.so"), "rb") as library:
            most = 1.0 if b"libtsan" in library.read() else 0.2
        for provider in PROVIDERS:
            with self.subTest(provider=provider), job_on(self.network, (0, 1, 1), program("waiting"), "idle", "10", SMDDP_OFI_PROVIDER=provider) as job:
                self.assert_ranks_end(job)
                for rank in (1, 2):
                    self.assertLess(float(job.lines(rank)[0].split()[1]), most, job.report())

    def test_cable_pulled_out(self):
        with job_on(self.network, (0, 0, 1, 1), program("mixed"), "1", SMDDP_TIMEOUT_MS="120000") as job:
            self.assertTrue(job.wait_for("ready"), job.report())
            time.sleep(0.3)
            self.network.cut(1)
            self.assertEqual(job.wait(30), dict.fromkeys(range(4), 3), job.report())
            for rank in range(4):
                world = next(line for line in job.lines(rank) if line.startswith("world "))
                self.assertRegex(world, "PEER_GONE .*rank [0-3] died .no sign of life", job.report())
            self.assert_nothing_left(job)


if __name__ == "__main__":
    rank_job.smddp_test.main()
