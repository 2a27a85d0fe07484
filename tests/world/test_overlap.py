"""Between hosts, asynchronous operations end while the program computes and never calls the library. How much of the time that hides:
tests/bench/overlap.
"""
# ctest: TIMEOUT 300
import unittest

import hosts
import rank_job
from rank_job import job_on, program

WHY_NOT = hosts.why_not()


@unittest.skipIf(WHY_NOT, WHY_NOT)
class Overlap(rank_job.TestCase):
    def setUp(self):
        super().setUp()
        self.network = hosts.Hosts(2)
        self.addCleanup(self.network.close)
        for host in (0, 1):
            self.network.limit(host, "400mbit")

    def run_layout(self, layout, provider):
        with job_on(self.network, layout, program("overlap"), "silent", str(1 << 20), "4", SMDDP_OFI_PROVIDER=provider, SMDDP_TIMEOUT_MS="60000") as job:
            self.assert_ranks_end(job, 60)
            for rank in range(len(layout)):
                self.assertEqual(job.lines(rank), ["ended 0 1 2 3"], job.report())

    def test_one_rank_a_host(self):
        for provider in ("net", "tcp;ofi_rxm"):
            with self.subTest(provider=provider):
                self.run_layout((0, 1), provider)

    def test_two_ranks_a_host(self):
        self.run_layout((0, 0, 1, 1), "net")


if __name__ == "__main__":
    rank_job.smddp_test.main()
