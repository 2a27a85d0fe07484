"""Ranks on two hosts whose cable is pulled out at any moment of mixed traffic: everyone names a rank of the other host within 5 s.

Under the label soak until it has run in full.
"""
# ctest: TIMEOUT 1200 LABELS soak
import random
import time

import rank_job
import test_hosts_killed
from test_kill_points import SEED

CUTS = 20


class CutCables(test_hosts_killed.KillPointsOnHosts):
    test_one_of_four = test_two_at_once = test_all = None

    def test_cable(self):
        for point in range(CUTS):
            chance = random.Random(SEED * 2000 + point)
            with self.subTest(point=point, seed=SEED), self.mixed(point) as job:
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
