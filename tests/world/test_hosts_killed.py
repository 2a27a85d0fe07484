"""Ranks on two hosts: killed at any moment of mixed traffic, as test_kill_points on one, and the cable pulled out.

argv[1]: how many kill points, and ten times as many as cables.
"""
# ctest: TIMEOUT 300 SOAK 200 LABELS failure
import random
import time
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

    def test_cable(self):
        for point in range(test_kill_points.POINTS // 10):
            chance = random.Random(test_kill_points.SEED * 2000 + point)
            with self.subTest(point=point, seed=test_kill_points.SEED), self.mixed(point) as job:
                self.assertTrue(job.wait_for("ready"), job.report())
                time.sleep(chance.random() ** 2 * 0.5)
                cut = time.monotonic()
                self.network.cut(point % 2)
                self.assertEqual(job.wait(20), dict.fromkeys(range(4), 3), job.report())
                for rank in range(4):
                    said = {line.split()[0]: line for line in job.lines(rank) if " " in line}
                    beyond = "23" if rank < 2 else "01"  # the ranks of the other host; a rank of the own one may have given up before
                    if set(said["failed"].split()[3]) & set(beyond):
                        self.assertRegex(said["failed"], "PEER_GONE .*rank [0-3] died .no sign of life", job.report())
                    self.assertRegex(said["world"], f"PEER_GONE .*rank [{beyond}] died .no sign of life", job.report())
                    self.assertLess(float(said["world"].split()[1]) - cut, 5, job.report())
                    self.assertLess(float(said["finalized"].split()[1]) - float(said["world"].split()[1]), 5, job.report())
                self.assert_nothing_left(job)
            self.network.mend(point % 2)


if __name__ == "__main__":
    rank_job.smddp_test.main()
