"""Ranks that share a host but not its /dev/shm, its host name or its process numbers (row 55), and a network of loopback only (row 46)."""
# ctest: TIMEOUT 120
import subprocess

import rank_job


def permitted(*command):
    return subprocess.run([*command, "true"], stdin=subprocess.DEVNULL, capture_output=True).returncode == 0


class Namespaces(rank_job.TestCase):
    def in_namespaces(self, *command, name="rounds", ranks=None, size=2):
        if not permitted(*command):
            self.skipTest(f"{' '.join(command)} is not permitted here")
        return self.run_ranks(size, name, 20, wrap=lambda rank: command if ranks is None or rank in ranks else (), seconds=60)

    def test_private_dev_shm(self):
        self.in_namespaces("unshare", "-m", "sh", "-c", 'mount -t tmpfs none /dev/shm && exec "$@"', "sh")

    def test_dev_shm_that_cannot_be_used(self):
        self.in_namespaces("unshare", "-m", "sh", "-c", 'mount -t tmpfs -o size=4k,ro none /dev/shm && exec "$@"', "sh")

    def test_separate_process_numbers(self):
        for ranks in (None, (0,), (1,)):
            with self.subTest(ranks=ranks):
                self.in_namespaces("unshare", "-pf", "--kill-child", "--mount-proc", ranks=ranks)

    def test_all_of_it_at_once(self):
        # Equal process numbers, no common /dev/shm, one host name: still one node, and the ranks say how they are joined.
        command = ("unshare", "-mpf", "--kill-child", "--mount-proc", "sh", "-c", 'mount -t tmpfs none /dev/shm && "$@"; exit $?', "sh")
        job = self.in_namespaces(*command, name="transport")
        for rank in job.ranks:
            self.assertEqual(job.lines(rank), ["transport shared memory pid 3"], job.report())

    def test_dead_rank_in_another_process_namespace(self):
        command = ("unshare", "-pf", "--kill-child", "--mount-proc")
        if not permitted(*command):
            self.skipTest(f"{' '.join(command)} is not permitted here")
        with rank_job.Job(2, rank_job.program("departures"), "exit", wrap=lambda rank: command) as job:
            self.assertEqual(job.wait(20), {0: 86, 1: 0}, job.report())

    def test_other_host_name(self):
        self.in_namespaces("unshare", "-u", "sh", "-c", 'echo other-$RANK > /proc/sys/kernel/hostname && exec "$@"', "sh")

    def test_ranks_of_two_users(self):
        # They cannot share memory: all are told who they are.
        command = ("setpriv", "--reuid=65534", "--clear-groups")
        if not permitted(*command):
            self.skipTest(f"{' '.join(command)} is not permitted here")
        for other in (0, 1, 2):
            with self.subTest(other=other), rank_job.Job(3, rank_job.program("rounds"), "1", wrap=lambda rank: command if rank == other else ()) as job:
                self.assert_ranks_end(job, 10, 1)
                for rank in job.ranks:
                    self.assertRegex(job.errors[rank].decode(), r"rank \d runs as user \d+ and rank 0, on the same node, as user \d+", job.report())

    def test_loopback_only(self):
        # One network for all ranks: the launcher runs inside.
        command = ("unshare", "-n", "sh", "-c", 'ip link set lo up && exec "$@"', "sh")
        if not permitted(*command):
            self.skipTest("unshare -n is not permitted here, or there is no ip command")
        for size in ("2", "4"):
            result = rank_job.smddp_test.run(*command, rank_job.smddp_test.SMDDPRUN, "-n", size, rank_job.program("rounds"), "20")
            self.assert_status(result, 0)


if __name__ == "__main__":
    rank_job.smddp_test.main()
