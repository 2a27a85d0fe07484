"""smddprun --servers: where servers stand, what they are told, and that they end with the ranks, or end the job."""
# ctest: TIMEOUT 200
import atexit
import os
import shutil
import signal
import tempfile
import time

import smddp_test
from smddp_test import smddprun

FOLDER = tempfile.mkdtemp(prefix="smddp-servers-")
atexit.register(shutil.rmtree, FOLDER, True)
RANK = os.path.join(smddp_test.BUILD, "tests", "world", "rank_program")


# smddprun takes the server that lies beside it: here one that says what it was told.
TOLD = os.path.join(FOLDER, "smddprun")
shutil.copy(smddp_test.SMDDPRUN, TOLD)
smddp_test.script(FOLDER, "smddp-server", 'echo "$1 $SMDDP_SERVER/$SMDDP_SERVERS for $WORLD_SIZE on ${0%/*}${RANK:+ rank}${LOCAL_RANK:+ local}${SMDDP_BOOTSTRAP_FD:+ fd} '
                       '${SMDDP_JOB_ID:+job} ${SMDDP_BOOTSTRAP_PORT:+port}"; exec sleep 300\n')
# Each host has programs of its own.
REMOTE = smddp_test.script(FOLDER, "remote", f'mkdir -p {FOLDER}/$1 && cp {FOLDER}/smddp* {FOLDER}/$1 && exec {FOLDER}/$1/smddprun "$3"\n')
LIBRARY = os.path.abspath(os.path.join(smddp_test.BUILD, "lib"))
ENVIRONMENT = smddp_test.environment(LD_LIBRARY_PATH=LIBRARY)
# Ranks stay until the servers have spoken.
WAIT = ("sh", "-c", "sleep 0.7")


class Servers(smddp_test.TestCase):
    def told(self, *arguments):
        result = smddp_test.run(TOLD, *arguments, *WAIT, env=ENVIRONMENT)
        self.assert_status(result, 0)
        return sorted(result.stdout.decode().splitlines())

    def test_what_servers_are_told(self):
        self.assertEqual(self.told("-n", "3", "--servers", "2"),
                         [f"[server {number}] --again {number}/2 for 3 on {FOLDER} job port" for number in (0, 1)])
        self.assertEqual(self.told("-n", "1", "--servers", "1", "--no-prefix"), [f"--again 0/1 for 1 on {FOLDER} job port"])

    def where(self, hosts, servers, *options):
        return [os.path.basename(line.split(" on ")[1].split()[0]) for line in self.told("--hosts", hosts, "--rsh", REMOTE, "--servers", str(servers), *options)]

    def test_hosts(self):
        self.assertEqual(self.where("a:2,b:2", 2), ["a", "b"])
        self.assertEqual(self.where("a:2,b:2", 3), ["a", "a", "b"])
        self.assertEqual(self.where("a:2,b:2,c:0,d:0", 3), ["c", "c", "d"])
        self.assertEqual(self.where("a,c:0,b", 1), ["c"])
        self.assertEqual(self.where("a:2,b:2,c:0", 1, "-n", "1"), ["c"])
        self.assertEqual(self.where("a", 1), ["a"])

    def test_ranks_beside_servers(self):
        result = smddp_test.run(TOLD, "--hosts", "a:2,c:0,b", "--rsh", REMOTE, "--servers", "2", "--no-prefix", "sh", "-c",
                                "echo $RANK/$WORLD_SIZE $LOCAL_RANK/$LOCAL_WORLD_SIZE $SMDDP_SERVERS${SMDDP_SERVER:+ server}; sleep 0.5", env=ENVIRONMENT)
        self.assert_status(result, 0)
        ranks = sorted(line for line in result.stdout.decode().splitlines() if not line.startswith("--again"))
        self.assertEqual(ranks, ["0/3 0/2 2", "1/3 1/2 2", "2/3 0/1 2"])

    def test_wrong_hosts(self):
        for hosts, words in (("c:0,a", "'0' in 'c:0'"), ("a,b:-1", "'-1'")):
            result = smddp_test.run(TOLD, "--hosts", hosts, "--servers", "1", "true", env=ENVIRONMENT)
            self.assert_status(result, 125)
            self.assert_says(result, words)

    def test_job_with_servers(self):
        for options in (("-n", "2"), ("--hosts", "a:1,b:1", "--rsh", smddp_test.script(FOLDER, "plain", 'shift; exec "$@"\n'))):
            result = smddprun("--servers", "2", *options, RANK, "sum")
            self.assert_status(result, 0)
            self.assertLess(result.seconds, 20)

    def test_ranks_that_start_again(self):
        result = smddprun("-n", "2", "--servers", "2", os.path.join(smddp_test.BUILD, "tests", "world", "programs", "faults"), "rejoin", "1000")
        self.assert_status(result, 0)
        self.assertIn(b"got SMDDP_ERR_ABORTED", result.stdout)

    def test_program_that_is_no_job(self):
        result = smddprun("-n", "2", "--servers", "2", "true")
        self.assert_status(result, 0)
        self.assertLess(result.seconds, 20)

    def run_marked(self, *arguments):
        marker = f"{os.getpid()}.{time.monotonic_ns()}"
        return smddp_test.start(smddp_test.SMDDPRUN, *arguments, env=smddp_test.environment(SMDDP_TEST_MARKER=marker)), marker

    @staticmethod
    def server(marker, number):
        for process in smddp_test.processes_with(marker):
            with open(f"/proc/{process}/environ", "rb") as file:
                if f"SMDDP_SERVER={number}".encode() in file.read().split(b"\0"):
                    return process
        return None

    def assert_nothing_left(self, marker):
        self.assertTrue(smddp_test.until(lambda: not smddp_test.processes_with(marker), 8), smddp_test.processes_with(marker))

    def test_killed_server_ends_the_job(self):
        job, marker = self.run_marked("-n", "2", "--servers", "2", RANK, "forever")
        for _ in range(2):
            self.assertIn(b"ready", job.stdout.readline())
        os.kill(self.server(marker, 1), signal.SIGKILL)
        _, err = job.communicate(timeout=30)
        self.assertEqual(job.returncode, 137, err)
        self.assertIn(b"server 1 was ended by signal 9", err)
        self.assert_nothing_left(marker)

    def test_killed_launcher(self):
        job, marker = self.run_marked("-n", "2", "--servers", "1", RANK, "forever")
        for _ in range(2):
            self.assertIn(b"ready", job.stdout.readline())
        job.kill()
        job.communicate(timeout=30)
        self.assert_nothing_left(marker)

    # A rank decides what a signal means to it, and may need the servers meanwhile.
    def test_signals_are_for_ranks(self):
        job, marker = self.run_marked("-n", "1", "--servers", "1", "sh", "-c", "trap 'echo heard; sleep 1; exit 0' INT; echo ready; while :; do sleep 0.1; done")
        self.assertIn(b"ready", job.stdout.readline())
        server = smddp_test.until(lambda: self.server(marker, 0))
        job.send_signal(signal.SIGINT)
        self.assertIn(b"heard", job.stdout.readline())
        self.assertTrue(os.path.exists(f"/proc/{server}"))
        _, err = job.communicate(timeout=30)
        self.assertEqual(job.returncode, 0, err)
        self.assert_nothing_left(marker)

    def test_server_that_is_not_there(self):
        alone = tempfile.mkdtemp(dir=FOLDER)
        shutil.copy(smddp_test.SMDDPRUN, alone)
        result = smddp_test.run(os.path.join(alone, "smddprun"), "-n", "1", "--servers", "1", "sleep", "60", env=ENVIRONMENT)
        self.assert_status(result, 127)
        self.assert_says(result, "cannot run 'smddp-server'")


if __name__ == "__main__":
    smddp_test.main()
