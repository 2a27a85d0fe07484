"""Two hosts with two networks between them: both carry bytes, as fast as each can; one that goes down is survived or named."""
# ctest: TIMEOUT 300 LABELS failure
import re
import time
import unittest

import hosts
import rank_job
from rank_job import job_on, program

WHY_NOT = hosts.why_not()
LAYOUT = (0, 1)


@unittest.skipIf(WHY_NOT, WHY_NOT)
class Rails(rank_job.TestCase):
    def job(self, network, most, seconds, layout=LAYOUT, **env):
        return job_on(network, layout, program("rails"), str(most), str(seconds), **{"SMDDP_TIMEOUT_MS": "60000", **env})

    def counters(self, job, rank):
        line = next((line for line in job.lines(rank) if line.startswith("rails ")), "")
        match = re.fullmatch(r"rails (\d+) (\d+) (\d+) (\d+) lost (\d+) rounds (\d+)", line)
        self.assertTrue(match, job.report())
        numbers = [int(number) for number in match.groups()]
        return numbers[:4], numbers[4]

    def test_unequal_rails(self):
        for provider in ("net", "tcp;ofi_rxm"):
            with self.subTest(provider=provider), hosts.Hosts(2, rails=2) as network:
                for host in LAYOUT:
                    network.limit(host, "80mbit", rail=0)  # so slow that a busy machine still fills them
                    network.limit(host, "40mbit", rail=1)
                with self.job(network, 4 << 20, 6, SMDDP_OFI_PROVIDER=provider) as job:
                    self.assert_ranks_end(job, 60)
                for rank in LAYOUT:
                    rails, lost = self.counters(job, rank)
                    self.assertEqual(lost, 0, job.report())
                    self.assertEqual(rails[2:], [0, 0], job.report())
                    self.assertGreater(min(rails[:2]), sum(rails) / 10, job.report())  # in which proportion: tests/bench/rails

    def test_one_network_is_none_of_several(self):
        with hosts.Hosts(2) as network, self.job(network, 65536, 0) as job:
            self.assert_ranks_end(job, 60)
        for rank in LAYOUT:
            self.assertEqual(self.counters(job, rank), ([0, 0, 0, 0], 0), job.report())

    def test_chosen(self):
        with hosts.Hosts(2, rails=2) as network:
            for env, used in (({"SMDDP_OFI_RAILS": "1"}, [False, False]), ({"SMDDP_OFI_INTERFACES": "^v1"}, [False, False]),
                              ({"SMDDP_OFI_INTERFACES": "v1,v0"}, [True, True]), ({}, [True, True])):
                with self.subTest(env=env), self.job(network, 4 << 20, 0, **env) as job:
                    self.assert_ranks_end(job, 60)
                    self.assertEqual([carried > 0 for carried in self.counters(job, 0)[0][:2]], used, job.report())

    def test_interface_named(self):
        with hosts.Hosts(2, rails=2) as network, self.job(network, 4 << 20, 2, SMDDP_OFI_INTERFACES="v1") as job:
            self.assertTrue(job.wait_for("ready"), job.report())
            before = network.sent_bytes(0, rail=1)
            self.assert_ranks_end(job, 60)
            self.assertGreater(network.sent_bytes(0, rail=1) - before, 4 << 20)

    def test_no_such_interface(self):
        with hosts.Hosts(2, rails=2) as network, self.job(network, 4, 0, SMDDP_OFI_INTERFACES="none0") as job:
            job.wait(30)
            self.assertIn(b"SMDDP_OFI_INTERFACES='none0' allows no interface", job.errors[0] + job.errors[1], job.report())

    def test_ranks_with_different_networks(self):
        with hosts.Hosts(3, rails=2) as network:
            network.take_down(2, rail=1)
            with self.job(network, 4 << 20, 1, layout=(0, 1, 2)) as job:
                self.assert_ranks_end(job, 60)
            for rank in (0, 1):
                rails, lost = self.counters(job, rank)
                self.assertGreater(rails[1], 0, job.report())
                self.assertEqual(lost, 0, job.report())
            self.assertEqual(self.counters(job, 2)[0][1], 0, job.report())

    def goes_down(self, event, provider):
        with hosts.Hosts(2, rails=2) as network:
            for host in LAYOUT:  # so that bytes are on their way
                network.limit(host, "400mbit", rail=0)
                network.limit(host, "400mbit", rail=1)
            with self.job(network, 4 << 20, 6, SMDDP_OFI_PROVIDER=provider) as job:
                self.assertTrue(job.wait_for("ready"), job.report())
                time.sleep(1)
                event(network)
                self.assert_ranks_end(job, 60)
                for rank in LAYOUT:
                    self.assertEqual(self.counters(job, rank)[1], 1, job.report())
                    self.assertRegex(job.errors[rank].decode(), rf"rail v1 .10\.77\.1\.{rank + 1}. to rank {1 - rank} is given up: ", job.report())
            self.assert_nothing_left(job)

    def test_cable_pulled_out(self):
        for provider in ("net", "tcp;ofi_rxm"):
            with self.subTest(provider=provider):
                self.goes_down(lambda network: network.cut(1, rail=1), provider)

    def test_interface_taken_down(self):
        for provider in ("net", "tcp;ofi_rxm"):
            with self.subTest(provider=provider):
                self.goes_down(lambda network: network.take_down(0, rail=1), provider)

    # The ranks have met over the first network and watch each other over it.
    def test_first_network_goes_down(self):
        with hosts.Hosts(2, rails=2) as network, self.job(network, 4 << 20, 60) as job:
            self.assertTrue(job.wait_for("ready"), job.report())
            network.cut(1, rail=0)
            self.assertEqual(job.wait(30), {0: 1, 1: 1}, job.report())
            for rank in LAYOUT:
                self.assertRegex(job.errors[rank].decode(), "PEER_GONE .*rank [01] died .no sign of life", job.report())


if __name__ == "__main__":
    rank_job.smddp_test.main()
