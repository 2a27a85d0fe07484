"""Ranks on several hosts are like ranks on one: the tests of smddprun again, rank 0 on one host, rank 1 on the next, the rest on a third.
The remote command is a script that stays on this machine. Then what is special: the list of hosts, and remote commands that fail."""
# ctest: TIMEOUT 400
import atexit
import os
import shutil
import signal
import tempfile
import time

import smddp_test

FOLDER = tempfile.mkdtemp(prefix="smddp-hosts-")
atexit.register(shutil.rmtree, FOLDER, True)
PLAIN = os.path.abspath(smddp_test.SMDDPRUN)


# A remote command that becomes the command, as far as anybody can see, and one that waits for it as ssh does.
BECOMES = smddp_test.script(FOLDER, "becomes", 'shift; exec "$@"\n')
WAITS = smddp_test.script(FOLDER, "waits", 'shift; "$@"; exit $?\n')
smddp_test.SMDDPRUN = smddp_test.script(FOLDER, "smddprun", f'case " $* " in *" -n "*) exec {PLAIN} --hosts a:1,b:1,c:4000 --rsh {BECOMES} "$@";; esac\n'
                                         f'exec {PLAIN} "$@"\n')

# Only now: they take the name of the program from there.
from test_smddprun_cleanup import Cleanup  # noqa: E402, F401
from test_smddprun_library import Library  # noqa: E402, F401
from test_smddprun_output import Output  # noqa: E402, F401
from test_smddprun_signals import Signals  # noqa: E402, F401
from test_smddprun_status import Status  # noqa: E402, F401


def on_hosts(hosts, *command, rsh=BECOMES, **options):
    return smddp_test.run(PLAIN, "--hosts", hosts, "--rsh", rsh, *command, **options)


class Hosts(smddp_test.TestCase):
    def test_numbers(self):
        result = on_hosts("a:2,b,c:3", "--no-prefix", "sh", "-c", "echo $RANK/$WORLD_SIZE $LOCAL_RANK/$LOCAL_WORLD_SIZE "
                          "$SMDATAPARALLEL_WORLD_RANK/$SMDATAPARALLEL_WORLD_SIZE $SMDATAPARALLEL_LOCAL_RANK ${SMDDP_BOOTSTRAP_FD:+fd}")
        self.assert_status(result, 0)
        self.assertEqual(sorted(result.stdout.decode().splitlines()),
                         ["0/6 0/2 0/6 0 fd", "1/6 1/2 1/6 1", "2/6 0/1 2/6 0", "3/6 0/3 3/6 0", "4/6 1/3 4/6 1", "5/6 2/3 5/6 2"])

    def test_same_place_on_all(self):
        result = on_hosts("a,b,[c::1]:2", "--no-prefix", "sh", "-c", "echo $MASTER_ADDR $MASTER_PORT $SMDDP_BOOTSTRAP_ADDRESS "
                          "$SMDDP_BOOTSTRAP_PORT $SMDDP_JOB_ID")
        self.assert_status(result, 0)
        self.assertEqual(len(set(result.stdout.splitlines())), 1)
        self.assertEqual(len(result.stdout.splitlines()), 4)

    def test_number_of_ranks(self):
        for options, ranks in ((("-n", "3"), 3), (("-n", "1"), 1), ((), 4)):
            result = on_hosts("a:2,b:2", *options, "--no-prefix", "sh", "-c", "echo $RANK")
            self.assert_status(result, 0)
            self.assertEqual(len(result.stdout.splitlines()), ranks)

    def test_syntax(self):
        for hosts, words in (("", "a host is empty"), ("a,,b", "a host is empty"), ("a:2,b:x", "'x' in 'b:x' is not a number of ranks"),
                             ("a:0", "'0' in 'a:0'"), ("a:", "'' in 'a:'"), ("a:-1", "'-1'"), (":2", "no host before ':'"),
                             ("fd00::1", "two colons"), ("[fd00::1", "'[' without ']'"), ("[fd00::1]2", "is not [ADDRESS]:N"),
                             ("-oProxyCommand=x", "begins with '-'"), ("a b", "not the name of a host"), ("a;b", "not the name of a host"),
                             ("a,b,a:2", "a stands twice"), ("a:4000,b:97", "4097 ranks"), ("a:99999999999", "'99999999999'")):
            with self.subTest(hosts=hosts):
                result = on_hosts(hosts, "true")
                self.assert_status(result, 125)
                self.assert_says(result, words)
                self.assertEqual(result.stderr.count(b"\n"), 1, "one sentence")
        self.assert_says(on_hosts("a:2,b:2", "-n", "5", "true"), "takes 4 ranks only")
        self.assert_says(on_hosts("a", "true", rsh=" "), "--rsh ' ' is no command")
        self.assert_says(smddp_test.run(PLAIN, "--rsh", "ssh", "-n", "1", "true"), "--hosts")

    def test_remote_command(self):
        seen = smddp_test.script(FOLDER, "seen", f'echo "$@" >> {FOLDER}/words; [ "$1" = -p ] && shift 2; shift; exec "$@"\n')
        self.assert_status(on_hosts("a,u@b", "true", rsh=f"{seen} -p 22"), 0)
        with open(f"{FOLDER}/words") as file:
            self.assertEqual(sorted(file.read().splitlines()), [f"-p 22 a {PLAIN} --agent", f"-p 22 u@b {PLAIN} --agent"])

    def test_greeting_of_a_remote_shell(self):
        greets = smddp_test.script(FOLDER, "greets", 'shift; echo "Welcome!"; printf "no newline"; exec "$@"\n')
        result = on_hosts("a,b", "echo", "hello", rsh=greets)
        self.assert_status(result, 0)
        self.assertEqual(sorted(result.stdout.splitlines()), [b"[0] hello", b"[1] hello"])

    def test_remote_command_that_fails(self):
        refuses = smddp_test.script(FOLDER, "refuses", '[ "$1" = b ] && { echo "no way to b" >&2; exit 255; }; shift; exec "$@"\n')
        for rsh, words in ((refuses, ("no way to b", "host b: the remote command ended with status 255")),
                           (FOLDER + "/absent", ("cannot run", "status 127")), ("true", (": the remote command ended with status 0",))):
            with self.subTest(rsh=rsh):
                begin = time.monotonic()
                result = on_hosts("a,b", "sleep", "60", rsh=rsh)
                self.assert_status(result, 125)
                self.assertLess(time.monotonic() - begin, 20)
                for text in words:
                    self.assert_says(result, text)

    def test_remote_command_that_hangs(self):
        hangs = smddp_test.script(FOLDER, "hangs", '[ "$1" = b ] && exec sleep 300; shift; exec "$@"\n')
        result = on_hosts("a,b", "--timeout", "1", "--grace", "1", "sleep", "60", rsh=hangs)
        self.assert_status(result, 124)
        self.assertLess(result.seconds, 15)

    def test_folder_that_is_not_there(self):
        with tempfile.TemporaryDirectory() as folder:
            gone = smddp_test.script(FOLDER, "gone", f'rmdir {folder}/x 2>/dev/null; shift; exec "$@"\n')
            os.mkdir(folder + "/x")
            result = on_hosts("a", "true", rsh=gone, cwd=folder + "/x")
        self.assert_status(result, 125)
        self.assert_says(result, "cannot enter the folder")

    def test_standard_input(self):
        data = os.urandom(3 << 20)
        result = smddp_test.subprocess.run([PLAIN, "--hosts", "a:1,b:2", "--rsh", BECOMES, "--no-prefix", "sh", "-c", "cat"], input=data,
                                           capture_output=True, timeout=60, env=smddp_test.environment())
        self.assertEqual((result.returncode, result.stdout == data), (0, True))
        # Rank 0 reads nothing: nobody keeps an endless input in memory.
        result = smddp_test.run("sh", "-c", f"yes | {PLAIN} --hosts a,b --rsh {BECOMES} sleep 1", timeout=30)
        self.assert_status(result, 0)

    def test_output_of_all(self):
        result = on_hosts("a:2,b:2", "--no-prefix", "sh", "-c", "yes | head -c 5000000; yes | head -c 3000000 >&2")
        self.assert_status(result, 0)
        self.assertEqual((len(result.stdout), len(result.stderr)), (20000000, 12000000))

    def test_arguments_and_environment(self):
        arguments = ["a b", "", "$HOME", "*", "x'y", "é", "--", "-n", "--agent", '"', "\\", "new\nline"]
        result = on_hosts("a", "--no-prefix", "printf", "<%s>", *arguments)
        self.assertEqual(result.stdout.decode(), "".join(f"<{a}>" for a in arguments))
        result = on_hosts("a,b", "-x", "X=1 2", "--no-prefix", "sh", "-c", 'echo "$NL|$X|$PWD"', env=smddp_test.environment(NL="line\nbreak"),
                          cwd=FOLDER)
        self.assertEqual(result.stdout.decode(), 2 * f"line\nbreak|1 2|{os.path.realpath(FOLDER)}\n")

    def kill_and_look(self, find):
        """Whatever is killed, nothing of the job is left. find: the process to kill, of the launcher's process."""
        marker = f"{os.getpid()}.{time.monotonic_ns()}"
        job = smddp_test.start(PLAIN, "--hosts", "a:2,b:2", "--rsh", WAITS, "sh", "-c", "setsid sleep 300 & echo ready; sleep 300",
                               env=smddp_test.environment(SMDDP_TEST_MARKER=marker))
        for _ in range(4):
            self.assertIn(b"ready", job.stdout.readline())
        os.kill(find(job, smddp_test.processes_with(marker)), signal.SIGKILL)
        _, err = job.communicate(timeout=20)
        self.assertTrue(smddp_test.until(lambda: not smddp_test.processes_with(marker), 8), smddp_test.processes_with(marker))
        return job.returncode, err

    @staticmethod
    def with_words(processes, *words):
        for process in processes:
            with open(f"/proc/{process}/cmdline") as file:
                line = file.read().split("\0")
            if all(word in line for word in words):
                return process
        raise AssertionError(words)

    def test_killed_remote_command(self):
        status, err = self.kill_and_look(lambda job, all_: self.with_words(all_, WAITS, "b", "--agent"))
        self.assertEqual(status, 125, err)
        self.assertIn(b"host b: the remote command was ended by signal 9", err)

    def test_killed_agent(self):
        def agent(job, all_):
            waits = self.with_words(all_, WAITS, "b", "--agent")
            with open(f"/proc/{waits}/task/{waits}/children") as file:
                return int(file.read().split()[0])
        status, err = self.kill_and_look(agent)
        self.assertEqual(status, 125, err)
        self.assertIn(b"host b: the remote command ended with status 137", err)

    def test_killed_launcher(self):
        self.kill_and_look(lambda job, all_: job.pid)

    def test_killed_keeper(self):
        def keeper(job, all_):
            with open(f"/proc/{job.pid}/task/{job.pid}/children") as file:
                return int(file.read().split()[0])
        self.assertEqual(self.kill_and_look(keeper)[0], 125)


if __name__ == "__main__":
    smddp_test.main()
