"""Ranks that call different things, for every collective: an error on every rank with both calls, and the world goes on."""
# ctest: TIMEOUT 300 LABELS failure
import rank_job


class Mismatch(rank_job.TestCase):
    def test_every_collective(self):
        for size in (2, 3, 4):
            for elements in (1, 256, 262144):
                with self.subTest(size=size, elements=elements):
                    self.run_ranks(size, "mismatches", elements, seconds=120)


if __name__ == "__main__":
    rank_job.smddp_test.main()
