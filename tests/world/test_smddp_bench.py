"""smddp-bench: every collective with 1, 2, 3, 4 and 7 ranks has no wrong element; a wrong library is noticed; formats.

With argv[1] = "full" the sweep is 4 B to 64 MiB.
"""
# ctest: TIMEOUT 900 SOAK full
import json
import os
import re
import signal
import sys
import tempfile
import time

import smddp_test
from smddp_test import BENCH, SMDDPRUN, environment, processes_with, run, smddprun, start

FULL = len(sys.argv) > 1 and sys.argv[1] == "full" and bool(sys.argv.pop(1))
COLLECTIVES = ("allreduce", "broadcast", "reduce", "allgather", "reduce_scatter", "alltoall", "gather", "scatter", "barrier", "sendrecv")
REDUCING = ("allreduce", "reduce", "reduce_scatter")
SWEEP = ("-b", "4", "-e", "64M", "-f", "4") if FULL else ("-b", "0", "-e", "1M", "-f", "8", "-n", "10")
FACTORS = {"allreduce": lambda p: 2 * (p - 1) / p, "broadcast": lambda p: 1, "reduce": lambda p: 1, "sendrecv": lambda p: 1,
           "barrier": lambda p: 1}


class Bench(smddp_test.TestCase):
    def bench(self, ranks, *arguments, status=0, env=None, timeout=600):
        result = smddprun("-n", str(ranks), "--no-prefix", BENCH, *arguments, env=env, timeout=timeout)
        self.assert_status(result, status)
        return result

    def rows(self, ranks, *arguments, **options):
        """Rows of a run as JSON."""
        result = self.bench(ranks, *arguments, "--json", "-", **options)
        return json.loads(result.stdout)

    def test_all_collectives(self):
        for ranks in (1, 2, 3, 4, 7):
            for collective in COLLECTIVES:
                with self.subTest(collective=collective, ranks=ranks):
                    data = self.rows(ranks, collective, *SWEEP, "--in-place", "0" if FULL else "both")
                    self.assertEqual(data["ranks"], ranks)
                    self.assertEqual(data["wrong"], 0)
                    self.assertEqual({row["collective"] for row in data["results"]}, {collective})
                    self.assertGreater(len(data["results"]), 0 if collective == "barrier" else 5)
                    for row in data["results"]:
                        self.check_row(row, ranks)

    def check_row(self, row, ranks):
        self.assertEqual(row["wrong"], 0, row)
        self.assertGreater(row["median_us"], 0)
        self.assertLessEqual(row["minimum_us"], row["median_us"] * 1.0001)
        factor = FACTORS.get(row["collective"], lambda p: (p - 1) / p)(ranks)
        self.assertAlmostEqual(row["algbw"], row["bytes"] / row["median_us"] / 1e3, places=6)
        self.assertAlmostEqual(row["busbw"], row["algbw"] * factor, places=6)
        blocks = ranks if row["collective"] in ("allgather", "reduce_scatter", "alltoall", "gather", "scatter") else 1
        if row["collective"] != "barrier":
            self.assertEqual(row["bytes"], row["count"] * 4 * blocks)

    def test_all_types_and_ops(self):
        for ranks in (2, 3):
            for collective in REDUCING:
                with self.subTest(collective=collective, ranks=ranks):
                    data = self.rows(ranks, collective, "-d", "all", "-o", "all", "-b", "8", "-e", "64K", "-f", "32", "-n", "2")
                    pairs = {(row["type"], row["op"]) for row in data["results"]}
                    self.assertEqual(len(pairs), 8 * 8 + 4 * 5 + 7)
                    self.assertEqual(data["wrong"], 0)
            for collective in set(COLLECTIVES) - set(REDUCING) - {"barrier"}:
                with self.subTest(collective=collective, ranks=ranks):
                    data = self.rows(ranks, collective, "-d", "all", "-b", "8", "-e", "64K", "-f", "32", "-n", "2")
                    self.assertEqual(len({row["type"] for row in data["results"]}), 13)
                    self.assertEqual(data["wrong"], 0)

    def test_roots_buffers_and_asynchronous_calls(self):
        common = ("-b", "0", "-e", "256K", "-f", "16", "-n", "4", "--in-place", "both", "-c", "3")
        for extra in (("--root", "2"), ("--alloc", "smddp"), ("--async",), ("--alloc", "smddp", "--async", "--root", "1")):
            with self.subTest(options=extra):
                self.assertEqual(self.rows(3, "all", *common, *extra)["wrong"], 0)

    def test_table(self):
        result = self.bench(2, "allreduce", "-b", "4", "-e", "64", "-f", "4", "-n", "10")
        lines = result.stdout.decode().splitlines()
        self.assertEqual([line[0] for line in lines], ["#", "#", " ", " ", " ", "#"])
        self.assertIn("allreduce, out of place, 2 ranks", lines[0])
        for word in ("bytes", "count", "type", "op", "median us", "minimum us", "algbw", "busbw", "wrong"):
            self.assertIn(word, lines[1])
        for line, size in zip(lines[2:5], (4, 16, 64)):
            self.assertTrue(re.fullmatch(rf" +{size} +{size // 4} +float32 +sum( +[0-9]+\.[0-9]+){{4}} +0", line), line)
        self.assertEqual(lines[5].split(";")[0], "# wrong elements: 0")
        bare = self.bench(2, "allreduce", "-b", "4", "-e", "64", "-f", "4", "-n", "10", "--no-header", "-c", "0").stdout.decode().splitlines()
        self.assertEqual(len(bare), 3)
        self.assertTrue(bare[0].endswith(" -"), bare)

    def test_json_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "result.json")
            result = self.bench(2, "broadcast", "-b", "4", "-e", "4", "-n", "10", "--json", path)
            self.assertIn(b"broadcast", result.stdout)
            with open(path) as file:
                self.assertEqual(json.load(file)["results"][0]["bytes"], 4)
        result = self.bench(1, "broadcast", "-b", "4", "-e", "4", "-n", "10", "--json", "/nonexistent/x", status=3)
        self.assert_says(result, "/nonexistent/x")

    def test_sizes(self):
        def sizes(*arguments):
            return [row["bytes"] for row in self.rows(3, *arguments, "-n", "2")["results"]]
        self.assertEqual(sizes("allreduce", "-b", "0", "-e", "100", "-f", "3"), [0, 4, 8, 24, 80])
        self.assertEqual(sizes("allgather", "-b", "1", "-e", "64", "-f", "2"), [12, 24, 60])
        self.assertEqual(sizes("allreduce", "-b", "1K", "-e", "2K", "-i", "512"), [1024, 1536, 2048])
        self.assertEqual(sizes("alltoall", "-b", "1", "-e", "1", "-d", "double"), [24])

    def test_alone(self):
        result = run(BENCH, "all", "-b", "4", "-e", "1K", "-n", "4", "--json", "-")
        self.assert_status(result, 0)
        self.assertEqual(json.loads(result.stdout)["ranks"], 1)

    def corrupted(self, how, *arguments, status):
        env = environment(LD_PRELOAD=smddp_test.preload("corrupt"), SMDDP_TEST_CORRUPT=how)
        return self.bench(2, "allreduce", *arguments, status=status, env=env)

    def test_wrong_library_is_noticed(self):
        if not smddp_test.preload("corrupt"):
            self.skipTest(smddp_test.NO_PRELOAD)
        once = ("-b", "64", "-e", "64", "-n", "4")
        for how, wrong in (("flip", 4), ("beyond", 4)):
            with self.subTest(how=how):
                result = self.corrupted(how, *once, status=1)
                self.assertIn(b"# wrong elements: %d;" % wrong, result.stdout)
        for how in ("stale", "input"):
            with self.subTest(how=how):
                self.corrupted(how, *once, "-c", "5", status=1)
        result = self.corrupted("fail", *once, status=3)
        self.assert_says(result, "smddp-bench: rank ")
        self.assertRegex(result.stderr, rb"SMDDP_ERR_INVALID_ARGUMENT: .*999")
        self.corrupted("none", *once, status=0)

    def test_stopped_rank_is_a_timeout(self):
        marker = f"{os.getpid()}.{time.monotonic_ns()}"
        job = start(SMDDPRUN, "-n", "2", "--timeout", "60", "--no-prefix", BENCH, "allreduce", "-b", "4", "-e", "4",
                    "-n", "1000000000", "--timeout-ms", "1000", env=environment(SMDDP_TEST_MARKER=marker))
        self.assertIn(b"allreduce", job.stdout.readline())
        rank1 = [pid for pid in processes_with("SMDDP_TEST_MARKER=" + marker) if self.rank_of(pid) == b"1"]
        self.assertEqual(len(rank1), 1)
        os.kill(rank1[0], signal.SIGSTOP)
        out, err = job.communicate(timeout=20)
        self.assertEqual(job.returncode, 3, (out, err))
        self.assertRegex(err, rb"smddp-bench: rank 0: .*SMDDP_ERR_TIMEOUT: .*rank 1")

    @staticmethod
    def rank_of(pid):
        with open(f"/proc/{pid}/environ", "rb") as file:
            return dict(entry.split(b"=", 1) for entry in file.read().split(b"\0") if b"=" in entry).get(b"RANK")

    def test_refusals(self):
        cases = ((("allreduce", "-d", "nope"), "'nope'"), (("allreduce", "-o", "nope"), "'nope'"), (("nope",), "'nope'"), ((), "COLLECTIVE"),
                 (("allreduce", "-b", "1M", "-e", "1K"), "-b"), (("allreduce", "-f", "1"), "1"), (("allreduce", "-b", "4Q"), "q"),
                 (("allreduce", "-o", "band", "-d", "half"), "band"), (("allreduce", "--alloc", "gpu"), "gpu"), (("broadcast", "--root", "5"), "5"),
                 (("allreduce", "-n", "0"), "0"), (("allreduce", "--in-place", "2"), "2"))
        for arguments, text in cases:
            with self.subTest(arguments=arguments):
                result = run(BENCH, *arguments)
                self.assert_status(result, 2)
                self.assert_says(result, text)

    def test_help(self):
        result = run(BENCH, "--help")
        self.assert_status(result, 0)
        for text in COLLECTIVES + ("-b,--minbytes", "-e,", "-f,", "-i,", "-n,", "-w,", "-d,", "-o,", "-c,", "--root", "--in-place", "--alloc",
                                   "--async", "--json", "--no-header", "--timeout-ms", "Exit status"):
            self.assertIn(text.encode(), result.stdout)


if __name__ == "__main__":
    smddp_test.main()
