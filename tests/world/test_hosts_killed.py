"""Ranks on two hosts, killed at any moment of mixed traffic, as test_kill_points on one.

argv[1]: how many kill points.
"""
# ctest: TIMEOUT 600 SOAK 200 LABELS failure
import unittest

import hosts
import rank_job
import test_kill_points
from rank_job import Job, program

WHY_NOT = hosts.why_not()
LAYOUT = (0, 0, 1, 1)


@unittest.skipIf(WHY_NOT, WHY_NOT)
class KillPointsOnHosts(test_kill_points.KillPoints):
    def setUp(self):
        super().setUp()
        self.network = hosts.Hosts(2)
        self.addCleanup(self.network.close)

    def mixed(self, seed):
        return Job(4, program("mixed"), str(seed), wrap=lambda rank: self.network.wrap(LAYOUT[rank]), address="10.77.0.1",
                   env={"SMDDP_TIMEOUT_MS": "120000"})


if __name__ == "__main__":
    rank_job.smddp_test.main()
