"""A rank killed at any moment of mixed traffic: every survivor gets an error that names it within 5 s, and nothing is left.

argv[1]: how many kill points.
"""
# ctest: TIMEOUT 300 SOAK 200 LABELS failure
import os
import random
import signal
import sys
import time

import rank_job
from rank_job import Job, program

POINTS = int(sys.argv.pop(1)) if len(sys.argv) > 1 and sys.argv[1].isdigit() else 20
SEED = int(os.environ.get("SMDDP_TEST_SEED", "1"))


class KillPoints(rank_job.TestCase):
    def mixed(self, seed):
        return Job(4, program("mixed"), str(seed), env={"SMDDP_TIMEOUT_MS": "120000"})

    def check_survivor(self, job, rank, dead, killed):
        said = {line.split()[0]: line.split(" ", 4) for line in job.lines(rank) if " " in line}
        self.assertIn("failed", said, job.report())
        _, when, status, members, sentence = said["failed"]
        self.assertEqual(status, "SMDDP_ERR_PEER_GONE", job.report())
        if str(dead) in members.split(","):
            self.assertIn(f"rank {dead} ", sentence, job.report())
        _, world_when, status, sentence = " ".join(said["world"]).split(" ", 3)
        self.assertEqual(status, "SMDDP_ERR_PEER_GONE", job.report())
        self.assertIn(f"rank {dead} ", sentence, job.report())
        if " during " in sentence:
            self.assertIn(" on comm '", sentence, job.report())
        self.assertLess(float(world_when) - killed, 5, job.report())
        self.assertLess(float(said["finalized"][1]) - float(world_when), 5, job.report())

    def test_one_of_four(self):
        for point in range(POINTS):
            chance = random.Random(SEED * 1000 + point)
            dead = chance.randrange(4)
            with self.subTest(point=point, seed=SEED, dead=dead), self.mixed(point) as job:
                self.assertTrue(job.wait_for("ready"), job.report())
                time.sleep(chance.random() ** 2 * 0.5)
                killed = time.monotonic()
                job.ranks[dead].kill()
                self.assertEqual(job.wait(20), {rank: -signal.SIGKILL if rank == dead else 3 for rank in range(4)}, job.report())
                for rank in range(4):
                    if rank != dead:
                        self.check_survivor(job, rank, dead, killed)
                self.assert_nothing_left(job)

    def test_all(self):
        for point in range(max(3, POINTS // 10)):
            with self.subTest(point=point), self.mixed(point) as job:
                self.assertTrue(job.wait_for("ready"), job.report())
                time.sleep(random.Random(point).random() * 0.3)
                for process in job.ranks.values():
                    process.kill()
                self.assertEqual(set(job.wait(10).values()), {-signal.SIGKILL})
                self.assert_nothing_left(job)

    def test_two_at_once(self):
        for point in range(max(3, POINTS // 10)):
            with self.subTest(point=point), self.mixed(point) as job:
                self.assertTrue(job.wait_for("ready"), job.report())
                time.sleep(random.Random(point).random() * 0.3)
                killed = time.monotonic()
                job.ranks[1].kill()
                job.ranks[2].kill()
                job.wait(20)
                for rank in (0, 3):
                    self.assertEqual(job.ranks[rank].poll(), 3, job.report())
                    world = next(line for line in job.lines(rank) if line.startswith("world "))
                    self.assertRegex(world, "PEER_GONE .*rank [12] ", job.report())
                    self.assertLess(float(world.split()[1]) - killed, 5)
                self.assert_nothing_left(job)


if __name__ == "__main__":
    rank_job.smddp_test.main()
