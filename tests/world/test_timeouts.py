"""Deadlines of a call, of a communicator and of the environment (row 26); a stopped process is slow, not dead."""
# ctest: TIMEOUT 120 LABELS failure
import signal
import time

import rank_job
from rank_job import Job, program


class Timeouts(rank_job.TestCase):
    def test_the_nearest_holds(self):
        self.run_ranks(2, "timeouts", env={"SMDDP_TIMEOUT_MS": "1500"})

    def test_a_stopped_rank_goes_on(self):
        with Job(4, program("mixed"), "1") as job:
            self.assertTrue(job.wait_for("ready"), job.report())
            job.ranks[2].send_signal(signal.SIGSTOP)
            time.sleep(3)
            self.assertEqual([process.poll() for process in job.ranks.values()], [None] * 4, job.report())
            job.ranks[2].send_signal(signal.SIGCONT)
            time.sleep(0.5)
            self.assertEqual([process.poll() for process in job.ranks.values()], [None] * 4, job.report())
            self.assertEqual([job.lines(rank) for rank in range(4)], [["ready"]] * 4)

    def test_bad_values(self):
        for value in ("-1", "0", "abc", "1e3", "9223372036854775808"):
            with self.subTest(value=value):
                result = rank_job.smddp_test.run(program("timeouts"), env=rank_job.smddp_test.environment(SMDDP_TIMEOUT_MS=value))
                self.assert_status(result, 1)
                self.assert_says(result, f"SMDDP_TIMEOUT_MS='{value}'")


if __name__ == "__main__":
    rank_job.smddp_test.main()
