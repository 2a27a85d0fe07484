"""smddprun --hosts on two hosts: ranks meet at an address of the first that the other one reaches."""
# ctest: TIMEOUT 200 LABELS launchers
import os
import signal
import sys
import time

import launcher_job
import namespace_hosts
import smddp_test
from smddp_test import SMDDPRUN
from test_smddprun_ports import MEET


class TwoHosts(launcher_job.Shared, smddp_test.TestCase):
    make = namespace_hosts.Hosts

    def launch(self, hosts, *command, **options):
        return smddp_test.run(SMDDPRUN, "--hosts", hosts, "--rsh", self.resource.rsh, *command, **options)

    def test_address_of_rank_0(self):
        for variables, address in (({}, "10.77.0.1"), ({"SMDDP_BOOTSTRAP_INTERFACE": "docker"}, "172.17.0.1")):
            result = self.launch("a,b", "--no-prefix", "sh", "-c", "echo $MASTER_ADDR $SMDDP_BOOTSTRAP_ADDRESS",
                                 env=smddp_test.environment(**variables))
            self.assert_status(result, 0)
            self.assertEqual(result.stdout.decode().splitlines(), [f"{address} {address}"] * 2)
        result = self.launch("a,b", "true", env=smddp_test.environment(SMDDP_BOOTSTRAP_INTERFACE="nosuch0"))
        self.assert_status(result, 125)
        self.assert_says(result, "smddprun: host a: SMDDP_BOOTSTRAP_INTERFACE='nosuch0'")

    def test_ports_are_reached(self):
        for hosts, ranks in (("a:2,b:2", 4), ("b,a:3", 4), ("a", 1)):
            result = self.launch(hosts, sys.executable, "-S", "-c", MEET)
            self.assert_status(result, 0)
            self.assertEqual(result.stdout.count(b"met"), ranks)

    def test_link_that_is_down(self):
        self.resource.ip("a", "link set v0 down")
        try:
            result = self.launch("a,b", launcher_job.PROGRAM, "sum", env=smddp_test.environment(SMDDP_TIMEOUT_MS="3000"))
        finally:
            self.resource.ip("a", "link set v0 up")
        self.assertNotEqual(result.returncode, 0)
        self.assertLess(result.seconds, 20)
        self.assertRegex(result.stderr, rb"rank 1 of 2 did not come|found no rank 0")

    def test_ranks_of_the_library(self):
        result = self.launch("a:2,b:2", launcher_job.PROGRAM, "sum")
        self.assert_status(result, 0)

    def test_nothing_left_on_any_host(self):
        for end in (signal.SIGTERM, signal.SIGKILL):
            marker = f"{os.getpid()}.{time.monotonic_ns()}"
            job = smddp_test.start(SMDDPRUN, "--hosts", "a:2,b:2", "--rsh", self.resource.rsh, "sh", "-c", "echo ready; setsid sleep 300",
                                   env=smddp_test.environment(SMDDP_TEST_MARKER=marker))
            for _ in range(4):
                self.assertIn(b"ready", job.stdout.readline())
            job.send_signal(end)
            job.communicate(timeout=20)
            self.assertTrue(smddp_test.until(lambda: not smddp_test.processes_with(marker), 8), smddp_test.processes_with(marker))


if __name__ == "__main__":
    namespace_hosts.become_root()
    smddp_test.main()
