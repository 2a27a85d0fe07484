"""Both kinds of stores for what peers read, through the caches and past them, give right results: private and shared memory, in place or not."""
# ctest: TIMEOUT 200
import smddp_test
from smddp_test import BENCH, SMDDPRUN


class Stores(smddp_test.TestCase):
    def test_all_collectives(self):
        for stream in ("1", "1024G"):
            for memory in ("private", "smddp"):
                for ranks in (2, 3):
                    with self.subTest(stream=stream, memory=memory, ranks=ranks):
                        result = smddp_test.run(SMDDPRUN, "-n", str(ranks), "--no-prefix", BENCH, "all", "-b", "4100", "-e", "4M", "-f", "8", "-n", "1", "-w", "0",
                                                "-c", "2", "--in-place", "both", "--alloc", memory, timeout=100,
                                                env=smddp_test.environment(SMDDP_STREAM_BYTES=stream))
                        self.assert_status(result, 0)


if __name__ == "__main__":
    smddp_test.main()
