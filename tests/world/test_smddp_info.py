"""smddp-info works where no job runs, and its JSON is JSON."""
# ctest: TIMEOUT 120
import json
import os
import subprocess

import smddp_test
from smddp_test import INFO, environment, run

SECTIONS = ("build", "topology", "parameters", "launcher", "providers")


class Info(smddp_test.TestCase):
    def test_text(self):
        result = run(INFO)
        self.assert_status(result, 0)
        self.assertEqual(result.stderr, b"")
        for title in (b"Build", b"Topology", b"Parameters", b"Launcher", b"Providers"):
            self.assertIn(b"\n" + title + b"\n", b"\n" + result.stdout)
        self.assertIn(b"SMDDP_TIMEOUT_MS", result.stdout)

    def test_json(self):
        result = run(INFO, "--json")
        self.assert_status(result, 0)
        self.assertEqual(tuple(json.loads(result.stdout)), SECTIONS)

    def test_one_section(self):
        for section, option in zip(SECTIONS, ("--build", "--topology", "--params", "--launcher", "--providers")):
            with self.subTest(section=section):
                text = run(INFO, option)
                self.assert_status(text, 0)
                self.assertTrue(text.stdout.strip())
                whole = run(INFO, option, "--json")
                self.assert_status(whole, 0)
                self.assertEqual(list(json.loads(whole.stdout)), [section])

    def test_values_come_from_the_environment(self):
        self.assertIn(b"123456789", run(INFO, "--params", env=environment(SMDDP_TIMEOUT_MS="123456789")).stdout)
        self.assertIn(b"123456789", run(INFO, "--params", "--json", env=environment(SMDDP_TIMEOUT_MS="123456789")).stdout)
        self.assertIn(b"7", run(INFO, "--launcher", env=environment(RANK="3", WORLD_SIZE="7", MASTER_ADDR="127.0.0.1", MASTER_PORT="29500")).stdout)

    def test_exchange_and_reachable_address(self):
        launcher = json.loads(run(INFO, "--launcher", "--json", env=environment(PMI_RANK="1", PMI_SIZE="2", PMI_FD="99")).stdout)["launcher"]
        self.assertEqual((launcher["exchange"], launcher["address"], launcher["reachable_error"]), ("PMI", "", None))
        self.assertTrue(launcher["reachable_address"])
        launcher = json.loads(run(INFO, "--launcher", "--json", env=environment(SMDDP_BOOTSTRAP_INTERFACE="nosuch0")).stdout)["launcher"]
        self.assertIsNone(launcher["reachable_address"])
        self.assertIn("nosuch0", launcher["reachable_error"])

    def test_providers(self):
        data = json.loads(run(INFO, "--providers", "--json").stdout)["providers"]
        if not data["providers"]:
            self.skipTest(f"no libfabric here: {data['error']}")
        names = [one["name"] for one in data["providers"]]
        self.assertIn(data["chosen"], names)
        for one in data["providers"]:
            self.assertEqual(one["usable"], one["reason"] is None)
            self.assertEqual(one["usable"], one["exchange_4_us"] is not None)
            self.assertEqual(one["chosen"], one["name"] == data["chosen"])
        wanted = names[-1] if not data["providers"][-1]["chosen"] else names[0]
        only = json.loads(run(INFO, "--providers", "--json", env=environment(SMDDP_OFI_PROVIDER=wanted)).stdout)["providers"]
        self.assertEqual(([one["name"] for one in only["providers"]], only["wanted"]), ([wanted], wanted))
        none = run(INFO, "--providers", env=environment(SMDDP_OFI_PROVIDER="no_such_provider"))
        self.assert_status(none, 0)
        self.assertIn(b"libfabric offers none", none.stdout)

    def test_without_libfabric(self):
        if subprocess.run(["unshare", "-Urm", "true"], capture_output=True).returncode != 0:
            self.skipTest("no user and mount namespaces here")
        # An empty file in the place of each libfabric that there is.
        hide = 'for f in $(ls /usr/lib/*/libfabric.so.1 /usr/lib/libfabric.so.1 /usr/local/lib/libfabric.so.1 2>/dev/null); do mount --bind /dev/null "$f"; done; exec "$@"'
        for options in ((), ("--providers",), ("--json",), ("--job",)):
            result = run("unshare", "-Urm", "sh", "-c", hide, "sh", INFO, *options)
            self.assert_status(result, 0)
            if "--job" not in options:
                self.assertIn(b"libfabric", result.stdout)
        self.assertIn(b"ranks on several nodes need libfabric", run("unshare", "-Urm", "sh", "-c", hide, "sh", INFO, "--providers", "--json").stdout)

    def test_job(self):
        alone = run(INFO, "--job")
        self.assert_status(alone, 0)
        self.assertIn(b"1 rank on 1 node", alone.stdout)
        two = smddp_test.smddprun("-n", "2", "--no-prefix", INFO, "--job", "--json")
        self.assert_status(two, 0)
        job = json.loads(two.stdout)
        self.assertEqual((job["size"], job["network"], job["choices"]), (2, None, []))
        self.assertEqual(job["transports"], [["self", "shared memory"], ["shared memory", "self"]])
        bad = run(INFO, "--job", env=environment(SMDDP_ALGORITHM="rung"))
        self.assert_status(bad, 1)
        self.assert_says(bad, "no collective has an algorithm 'rung'")

    def test_bad_environment(self):
        env = environment(RANK="2x", WORLD_SIZE="4", MASTER_ADDR="127.0.0.1", MASTER_PORT="29500")
        for options in ((), ("--json",)):
            result = run(INFO, *options, env=env)
            self.assertIn(b"2x", result.stdout + result.stderr)
            self.assertIn(b"SMDDP_TIMEOUT_MS", result.stdout)

    def test_loopback_down(self):
        if subprocess.run(["unshare", "-Urn", "true"], capture_output=True).returncode != 0:
            self.skipTest("no user and network namespaces here")
        self.assert_status(run("unshare", "-Urn", INFO), 0)

    def test_limited_cpus(self):
        cpu = min(os.sched_getaffinity(0))
        result = run("taskset", "-c", str(cpu), INFO, "--topology")
        self.assert_status(result, 0)
        self.assertIn(str(cpu).encode(), result.stdout)

    def test_schedules(self):
        text = run(INFO, "--schedule", "allreduce", "--algorithm", "sharded", "--ranks", "6")
        self.assert_status(text, 0)
        for rank in range(6):
            self.assertIn(f"allreduce, algorithm sharded, rank {rank} of 6".encode(), text.stdout)
        one = run(INFO, "--schedule", "broadcast", "--algorithm", "hierarchical", "--nodes", "2+2+2", "--root", "3", "--rank", "0", "--json")
        self.assert_status(one, 0)
        (schedule,) = json.loads(one.stdout)
        self.assertEqual([schedule["rank"], schedule["root"], schedule["nodes"]], [0, 3, [[0, 1], [2, 3], [4, 5]]])
        kinds = [step["kind"] for step in schedule["steps"]]
        self.assertEqual(kinds, ["recv", "node broadcast"])
        for options, words in (
            (("--schedule", "allreduce", "--ranks", "3"), "halving_doubling"),
            (("--schedule", "nothing", "--ranks", "3"), "reduce_scatter"),
            (("--schedule", "allreduce", "--algorithm", "ring", "--nodes", "2+"), "2+"),
            (("--rank", "3"), "--schedule"),
        ):
            result = run(INFO, *options)
            self.assert_status(result, 2)
            self.assert_says(result, words)

    def test_refusals_and_help(self):
        result = run(INFO, "--nope")
        self.assert_status(result, 2)
        self.assert_says(result, "--nope")
        result = run(INFO, "--help")
        self.assert_status(result, 0)
        for option in (b"--json", b"--build", b"--topology", b"--params", b"--launcher", b"--providers", b"--job", b"--schedule", b"Exit status"):
            self.assertIn(option, result.stdout)
        self.assertRegex(run(INFO, "--version").stdout, rb"^smddp-info \d+\.\d+\.\d+\n$")


if __name__ == "__main__":
    smddp_test.main()
