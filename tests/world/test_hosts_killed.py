"""Ranks on two hosts, killed at any moment of mixed traffic, as test_kill_points on one.

argv[1]: how many kill points.
"""
# ctest: TIMEOUT 600 SOAK 200 LABELS failure
import unittest

import hosts
import rank_job
import test_kill_points
from rank_job import job_on, program

WHY_NOT = hosts.why_not()
LAYOUT = (0, 0, 1, 1)


@unittest.skipIf(WHY_NOT, WHY_NOT)
class KillPointsOnHosts(test_kill_points.KillPoints):
    def setUp(self):
        super().setUp()
        self.network = hosts.Hosts(2)
        self.addCleanup(self.network.close)

    def mixed(self, seed):
        return job_on(self.network, LAYOUT, program("mixed"), str(seed), SMDDP_TIMEOUT_MS="120000")


if __name__ == "__main__":
    rank_job.smddp_test.main()
