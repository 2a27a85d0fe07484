"""Ranks on several hosts, which are network namespaces here: results, the way of the bytes, a cable pulled out."""
# ctest: TIMEOUT 600 LABELS failure
import os
import time
import unittest

import hosts
import rank_job
import smddp_test
from rank_job import Job, program

WHY_NOT = hosts.why_not()
LAYOUTS = ((0, 1), (0, 0, 1, 1), (0, 0, 0, 1), (0, 1, 2))
BENCH = os.path.join(smddp_test.BUILD, "bin", "smddp-bench")


def job_on(network, layout, *command, **env):
    return Job(len(layout), *command, wrap=lambda rank: network.wrap(layout[rank]), address="10.77.0.1", env=env)


@unittest.skipIf(WHY_NOT, WHY_NOT)
class Hosts(rank_job.TestCase):
    def run_bench(self, layout, collective, *options, **env):
        with hosts.Hosts(max(layout) + 1) as network, job_on(network, layout, BENCH, collective, *options, **env) as job:
            self.assert_ranks_end(job, 120)
            self.assertIn(b"# wrong elements: 0", job.output[0], job.report())
        return job

    def test_results(self):
        for layout in LAYOUTS:
            for collective in ("allreduce", "broadcast", "alltoall", "sendrecv"):
                with self.subTest(layout=layout, collective=collective):
                    self.run_bench(layout, collective, "-b", "4", "-e", "1M", "-f", "64", "-n", "2", "-w", "1")

    def test_every_collective(self):
        for collective in ("reduce", "allgather", "reduce_scatter", "gather", "scatter", "barrier"):
            with self.subTest(collective=collective):
                self.run_bench((0, 0, 1), collective, "-b", "4", "-e", "256K", "-f", "64", "-n", "2", "-w", "1")

    def test_other_provider(self):
        for provider in ("net", "tcp;ofi_rxm"):
            with self.subTest(provider=provider):
                self.run_bench((0, 1), "allreduce", "-b", "4", "-e", "1M", "-f", "64", "-n", "2", "-w", "1", SMDDP_OFI_PROVIDER=provider)

    def test_the_wire_is_used(self):
        job = self.run_bench((0, 1), "allreduce", "-b", "4", "-e", "4", "-n", "2", "-w", "1", SMDDP_LOG="info")
        self.assertIn(b"2 ranks on 2 nodes", job.errors[0] + job.output[0], job.report())

    def test_cable_pulled_out(self):
        with hosts.Hosts(2) as network, job_on(network, (0, 0, 1, 1), program("mixed"), "1", SMDDP_TIMEOUT_MS="120000") as job:
            self.assertTrue(job.wait_for("ready"), job.report())
            time.sleep(0.3)
            network.cut(1)
            self.assertEqual(job.wait(30), dict.fromkeys(range(4), 3), job.report())
            for rank in range(4):
                world = next(line for line in job.lines(rank) if line.startswith("world "))
                self.assertRegex(world, "PEER_GONE .*rank [0-3] died .no sign of life", job.report())
            self.assert_nothing_left(job)


if __name__ == "__main__":
    rank_job.smddp_test.main()
