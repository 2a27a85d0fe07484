"""Ranks confined to some CPUs, by a mask or a cgroup, and machines that this one is not (rows 61, 62, 64)."""
# ctest: TIMEOUT 120
import contextlib
import json
import os
import tempfile

import rank_job
from smddp_test import INFO, environment, run

ALLOWED = sorted(os.sched_getaffinity(0))
CPUSET = "/sys/fs/cgroup/cpuset"


def on_processors(*numbers):
    return lambda rank: ("taskset", "-c", ",".join(str(n) for n in numbers))


@contextlib.contextmanager
def cpuset_cgroup(cpus):
    """A cgroup of these CPUs while the block runs; OSError where none can be made."""
    v1 = os.path.isdir(CPUSET)
    folder = os.path.join(CPUSET if v1 else "/sys/fs/cgroup", f"smddp-test-{os.getpid()}")
    os.mkdir(folder)
    try:
        if v1:
            with open(os.path.join(CPUSET, "cpuset.mems")) as source, open(os.path.join(folder, "cpuset.mems"), "w") as target:
                target.write(source.read())
        with open(os.path.join(folder, "cpuset.cpus"), "w") as file:
            file.write(",".join(str(cpu) for cpu in cpus))
        yield os.path.join(folder, "cgroup.procs")
    finally:
        os.rmdir(folder)


def bitmap(numbers):
    """hwloc's text of a set."""
    value = sum(1 << number for number in numbers)
    words = [value >> 32 * i & 0xFFFFFFFF for i in range(max(1, (value.bit_length() + 31) // 32))]
    return ",".join(f"0x{word:08x}" for word in reversed(words))


def xml(cpus, allowed=None, node=0):
    """A machine of these PUs in one NUMA node (None: in none), of which some are allowed."""
    cpuset = f'cpuset="{bitmap(cpus)}" complete_cpuset="{bitmap(cpus)}"'
    nodeset = f'nodeset="{bitmap([] if node is None else [node])}" complete_nodeset="{bitmap([] if node is None else [node])}"'
    numa = "" if node is None else f'<object type="NUMANode" os_index="{node}" {cpuset} {nodeset} gp_index="2" local_memory="4096"/>'
    pus = "".join(f'<object type="PU" os_index="{cpu}" cpuset="{bitmap([cpu])}" complete_cpuset="{bitmap([cpu])}" {nodeset} '
                  f'gp_index="{cpu + 3}"/>' for cpu in cpus)
    return (f'<?xml version="1.0" encoding="UTF-8"?><!DOCTYPE topology SYSTEM "hwloc2.dtd"><topology version="2.0">'
            f'<object type="Machine" os_index="0" {cpuset} allowed_cpuset="{bitmap(cpus if allowed is None else allowed)}" {nodeset} '
            f'allowed_nodeset="{bitmap([] if node is None else [node])}" gp_index="1">{numa}{pus}</object></topology>')


class Affinity(rank_job.TestCase):
    def assert_confined(self, cpus, wrap):
        job = self.run_ranks(4, "affinity", wrap=wrap)
        for rank in job.ranks:
            self.assertEqual(job.lines(rank), [f"mask {cpus[0]} {cpus[-1]} 1"], job.report())
        shares = [rank for rank in job.ranks if b" share " in job.errors[rank]]
        self.assertEqual(shares, [0] if len(cpus) < 4 else [], job.report())
        if shares:
            self.assertRegex(job.errors[0].decode(), rf"warn: 4 ranks on \S+ share {len(cpus)} CPUs?\b")

    def test_masks_stay(self):
        sets = {(ALLOWED[0],), (ALLOWED[-1],), tuple(ALLOWED[:2]), tuple(ALLOWED)} | ({(ALLOWED[1], ALLOWED[3])} if len(ALLOWED) >= 4 else set())
        for cpus in sets:
            with self.subTest(cpus=cpus):
                self.assert_confined(cpus, on_processors(*cpus))

    def test_each_rank_on_its_own(self):
        # No rank may use all CPUs, but together they have them.
        job = self.run_ranks(len(ALLOWED), "affinity", wrap=lambda rank: ("taskset", "-c", str(ALLOWED[rank])))
        for rank in job.ranks:
            self.assertEqual(job.lines(rank), [f"mask {ALLOWED[rank]} {ALLOWED[rank]} 1"], job.report())
            self.assertNotIn(b" share ", job.errors[rank])

    def test_cgroup(self):
        try:
            with cpuset_cgroup(ALLOWED[-1:]) as procs:
                inside = ("sh", "-c", f'echo $$ > {procs} && exec "$@"', "sh")
                self.assert_confined(ALLOWED[-1:], lambda rank: inside)
                self.assertEqual(self.allowed(*inside), {"count": 1, "cpus": str(ALLOWED[-1])})
        except OSError as error:
            self.skipTest(f"no cgroup of some CPUs can be made here: {error}")

    def topology(self, *wrap, **variables):
        result = run(*wrap, INFO, "--topology", "--json", env=environment(**variables))
        self.assert_status(result, 0)
        self.assert_status(run(*wrap, INFO, "--topology", env=environment(**variables)), 0)
        return json.loads(result.stdout)["topology"]

    def allowed(self, *wrap, **variables):
        return self.topology(*wrap, **variables)["allowed"]

    def test_info_counts_allowed_processors(self):
        self.assertEqual(self.allowed("taskset", "-c", str(ALLOWED[-1])), {"count": 1, "cpus": str(ALLOWED[-1])})
        self.assertEqual(self.allowed()["count"], len(ALLOWED))

    def test_other_machines(self):
        everything = range(64)
        machines = {"a few of 64": (xml(everything, range(44, 48)), 4, "44-47"), "only 44 to 47": (xml(range(44, 48)), 4, "44-47"),
                    "no CPU 0": (xml([1, 2]), 2, "1-2"), "node 2": (xml([0, 1], node=2), 2, "0-1"), "1 PU": (xml([0]), 1, "0"),
                    "1025 PUs": (xml(range(1025)), 1025, "0-1024"), "no node": (xml([0, 1], node=None), None, ""),
                    "no CPU": (xml([]), None, ""), "none allowed": (xml([0, 1], []), None, ""), "no XML": ("<html>", None, "")}
        with tempfile.TemporaryDirectory() as folder:
            for name, (text, count, cpus) in machines.items():
                path = os.path.join(folder, name)
                with open(path, "w") as file:
                    file.write(text)
                with self.subTest(machine=name):
                    if count is None:  # a description or a sentence, as hwloc sees it
                        result = run(INFO, "--topology", env=environment(HWLOC_XMLFILE=path))
                        self.assertIn(result.returncode, (0, 1), result)
                        self.assertTrue(result.returncode == 0 or b"topology of 'HWLOC_XMLFILE=" in result.stderr, result)
                    else:
                        described = self.topology(HWLOC_XMLFILE=path)
                        self.assertEqual(described["allowed"], {"count": count, "cpus": cpus})
                        self.assertEqual(described["source"], f"HWLOC_XMLFILE={path}")
                    # What a file says of a machine is nothing to ranks of this one.
                    job = self.run_ranks(2, "affinity", env={"HWLOC_XMLFILE": path}, wrap=on_processors(*ALLOWED))
                    for rank in job.ranks:
                        self.assertEqual(job.lines(rank), [f"mask {ALLOWED[0]} {ALLOWED[-1]} 1"], job.report())
        self.assertEqual(self.allowed(HWLOC_SYNTHETIC="NUMANode:4 Core:16 PU:1")["count"], 64)


if __name__ == "__main__":
    rank_job.smddp_test.main()
