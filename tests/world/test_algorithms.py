"""The choice of algorithms between hosts, which are network namespaces here: by the option of a call, by SMDDP_ALGORITHM, by the figures of
the network; what is chosen is what runs, on all ranks alike."""
# ctest: TIMEOUT 600 LABELS failure
import json
import unittest

import hosts
import rank_job
from rank_job import Job, program
from smddp_test import BENCH, INFO, run

WHY_NOT = hosts.why_not()
COLLECTIVES = ("allreduce", "broadcast", "reduce", "allgather", "reduce_scatter", "alltoall", "gather", "scatter", "barrier")


def names_of(collective):
    """The algorithms that there are for four ranks."""
    sentence = run(INFO, "--schedule", collective, "--ranks", "4").stderr.decode()
    return sentence.rpartition(" is none of ")[2].strip().split(", ")


@unittest.skipIf(WHY_NOT, WHY_NOT)
class Algorithms(rank_job.TestCase):
    def job_on(self, network, layout, *command, each=lambda rank: {}, **env):
        def wrap(rank):
            return (*network.wrap(layout[rank]), "env", *(f"{name}={value}" for name, value in each(rank).items()))
        return Job(len(layout), *command, wrap=wrap, address="10.77.0.1", env=env)

    def run_on(self, layout, *command, status=0, **options):
        with hosts.Hosts(max(layout) + 1) as network, self.job_on(network, layout, *command, **options) as job:
            self.assert_ranks_end(job, 180, status)
        return job

    def test_option_of_a_call(self):
        for layout in ((0, 1), (0, 1, 2), (0, 0, 1, 1)):
            with self.subTest(layout=layout):
                self.run_on(layout, program("algorithms"))

    def test_every_algorithm_is_right(self):
        for collective in COLLECTIVES:
            names = [name for name in names_of(collective) if name != "servers"]  # there are none; test_servers.py has some
            self.assertGreater(len(names), 1)
            with self.subTest(collective=collective):
                job = self.run_on((0, 0, 1, 1), BENCH, collective, "--algorithm", ",".join(["none", *names]), "-b", "4", "-e", "256K", "-f", "64",
                                  "-n", "2", "-w", "1", "--json", "-")
                data = json.loads(job.output[0])
                self.assertEqual(data["wrong"], 0)
                self.assertEqual({row["algorithm"] for row in data["results"]}, {None, *names})
                self.assertGreater(data["counters"]["wire_messages_sent"], 0)
                self.assertGreater(data["counters"]["wire_packets"], 0)

    def test_environment(self):
        job = self.run_on((0, 0, 1, 1), BENCH, "allreduce", "-b", "4", "-e", "256K", "-f", "64", "-n", "2", "--json", "-",
                          SMDDP_ALGORITHM="ring,allgather:bruck")
        data = json.loads(job.output[0])
        self.assertEqual(data["wrong"], 0)
        chosen = {(choice["collective"], choice["algorithm"]) for choice in data["job"]["choices"]}
        self.assertEqual({name for collective, name in chosen if collective == "allreduce"}, {"ring"})
        self.assertEqual({name for collective, name in chosen if collective == "allgather"}, {"bruck"})
        self.assertEqual({name for collective, name in chosen if collective == "reduce_scatter"}, {"ring"})

    def test_wrong_and_differing_environment(self):
        job = self.run_on((0, 1), program("transport"), status=1, SMDDP_ALGORITHM="allreduce:rung")
        for rank in job.ranks:
            self.assertIn(b"SMDDP_ALGORITHM='allreduce:rung': allreduce has no algorithm 'rung'; it has sharded", job.errors[rank], job.report())
        for name, values in (("SMDDP_ALGORITHM", ("ring", "sharded")), ("SMDDP_CALIBRATION", ("off", "on"))):
            with self.subTest(name=name):
                job = self.run_on((0, 1), program("transport"), status=1, each=lambda rank, n=name, v=values: {n: v[rank]})
                for rank in job.ranks:
                    self.assertRegex(job.errors[rank].decode(), f"{name} differs: '{values[0]}' on rank 0, '{values[1]}' on rank 1", job.report())

    def test_figures(self):
        given = json.loads(self.run_on((0, 1), INFO, "--job", "--json", SMDDP_CALIBRATION="latency_us=7.5,bytes_per_us=12345").output[0])
        self.assertEqual((given["calibration"]["latency_us"], given["calibration"]["bytes_per_us"], given["calibration"]["overhead_us"]), (7.5, 12345, 0.7))
        assumed = json.loads(self.run_on((0, 1), INFO, "--job", "--json", SMDDP_CALIBRATION="off").output[0])
        self.assertEqual((assumed["calibration"]["origin"], assumed["calibration"]["latency_us"]), ("assumed", 20))
        job = self.run_on((0, 1), INFO, "--job", status=1, SMDDP_CALIBRATION="latency=3")
        self.assertIn(b"SMDDP_CALIBRATION", job.errors[0])
        self.assertIn(b"latency_us from 0.5 to 1000", job.errors[1])

    def test_all_ranks_have_the_same_figures(self):
        job = self.run_on((0, 0, 1, 2), program("transport"), SMDDP_LOG="info")
        lines = {line.partition("between nodes: ")[2] for rank in job.ranks for line in job.errors[rank].decode().splitlines() if "between nodes: " in line}
        self.assertEqual(len(lines), 1, job.report())
        self.assertRegex(lines.pop(), r"latency_us=[0-9.]+,.*\((measured between rank 0 and rank 2|assumed, .*)\)")

    def test_transport_of_each_pair(self):
        job = self.run_on((0, 0, 1, 1), INFO, "--job", "--json")
        data = json.loads(job.output[0])
        far = data["network"]["provider"]
        near = "shared memory"
        self.assertEqual(data["transports"], [["self", near, far, far], [near, "self", far, far], [far, far, "self", near], [far, far, near, "self"]])
        self.assertEqual([node["ranks"] for node in data["nodes"]], [[0, 1], [2, 3]])
        for rank in (1, 2, 3):
            self.assertEqual(job.output[rank], b"")

    def test_counters_tell_what_went_over_the_wire(self):
        job = self.run_on((0, 1), BENCH, "allreduce", "-b", "1M", "-e", "1M", "-n", "10", "-w", "0", "-c", "0", "--json", "-", SMDDP_ALGORITHM="sharded")
        data = json.loads(job.output[0])
        counters = data["counters"]
        # Half of the vector there and half of the result back, in each of 10 calls; then some words of the benchmark.
        for name in ("wire_bytes_sent", "wire_bytes_received"):
            self.assertGreaterEqual(counters[name], 10 << 20)
            self.assertLess(counters[name], 11 << 20)
        self.assertGreaterEqual(counters["wire_messages_sent"], 20)
        self.assertEqual(counters["zero_copy"] + counters["two_copy"] + counters["fast_path"], 0)
        self.assertEqual(data["transport"], data["job"]["network"]["provider"])

    def test_other_algorithm_on_one_rank(self):
        for layout in ((0, 1, 2), (0, 0, 1, 1)):
            with self.subTest(layout=layout):
                job = self.run_on(layout, program("algorithms"), "differ", SMDDP_TIMEOUT_MS="60000")
                for rank in job.ranks:
                    self.assertEqual(job.lines(rank), ["differs"])


if __name__ == "__main__":
    rank_job.smddp_test.main()
