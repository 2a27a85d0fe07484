"""Memory, descriptors, threads and /dev/shm stay flat over many collectives and communicators (rows 31, 40, 41).

argv[1]: thousands of collectives; a twentieth of it is hundreds of communicators.
"""
# ctest: TIMEOUT 240 SOAK 100
import os
import sys

import rank_job

THOUSANDS = int(sys.argv.pop(1)) if len(sys.argv) > 1 and sys.argv[1].isdigit() else 10


class Leaks(rank_job.TestCase):
    def test_flat(self):
        grows = 0 if os.environ.get("SMDDP_SANITIZER") else 2048
        for ranks in (2, 3):
            with self.subTest(ranks=ranks):
                self.run_ranks(ranks, "leaks", THOUSANDS * 1000, THOUSANDS * 50, grows, seconds=220)


if __name__ == "__main__":
    rank_job.smddp_test.main()
