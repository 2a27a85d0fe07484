"""Signals that smddprun passes on, and what a user's patience does."""
# ctest: TIMEOUT 120
import os
import signal
import subprocess
import time

import smddp_test
from smddp_test import SMDDPRUN, start, until

LOOP = "echo ready; while :; do sleep 0.02; done"


class Signals(smddp_test.TestCase):
    def job(self, script, ranks=2, options=(), **more):
        """Starts a job whose ranks write 'ready' and waits for that."""
        job = start(SMDDPRUN, "-n", str(ranks), *options, "sh", "-c", script, **more)
        for _ in range(ranks):
            self.assertIn(b"ready", job.stdout.readline())
        return job

    def finish(self, job, status, seconds=10):
        out, err = job.communicate(timeout=seconds)
        self.assertEqual(job.returncode, status, (out, err))
        return out, err

    def test_passed_on(self):
        for number, name in ((signal.SIGINT, "INT"), (signal.SIGTERM, "TERM"), (signal.SIGHUP, "HUP"), (signal.SIGUSR1, "USR1"),
                             (signal.SIGUSR2, "USR2"), (signal.SIGQUIT, "QUIT"), (signal.SIGCONT, "CONT")):
            with self.subTest(signal=name):
                job = self.job(f"trap 'echo got {name}; exit 0' {name}; {LOOP}")
                job.send_signal(number)
                out, _ = self.finish(job, 0)
                self.assertEqual(sorted(out.splitlines()), [b"[0] got " + name.encode(), b"[1] got " + name.encode()])

    def test_default_actions(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(signal=number):
                job = self.job("echo ready; exec sleep 60")
                job.send_signal(number)
                _, err = self.finish(job, 128 + number)
                self.assertIn(b"was ended by signal %d" % number, err)

    def test_ignored_before_the_launcher(self):
        # As nohup does it: ranks that inherit an ignored SIGHUP live on.
        job = self.job("echo ready; sleep 0.5; exit 11", preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        job.send_signal(signal.SIGHUP)
        self.finish(job, 11)

    def test_mask_and_dispositions_of_ranks(self):
        result = smddp_test.smddprun("-n", "1", "--no-prefix", "grep", "-E", "^Sig(Blk|Ign|Cgt)", "/proc/self/status")
        plain = smddp_test.run("grep", "-E", "^Sig(Blk|Ign|Cgt)", "/proc/self/status")
        self.assertEqual(result.stdout, plain.stdout)

    def test_interrupted_calls(self):
        library = smddp_test.preload("interrupt")
        if not library:
            self.skipTest(smddp_test.NO_PRELOAD)
        for every in ("2", "5"):
            env = smddp_test.environment(LD_PRELOAD=library, SMDDP_TEST_INTERRUPT=every)
            with self.subTest(every=every):
                result = smddp_test.smddprun("-n", "3", "sh", "-c", "seq 1 5000", env=env)
                self.assert_status(result, 0)
                self.assertEqual(len([line for line in result.stdout.splitlines() if b"interrupted" not in line]), 15000)
                self.assert_status(smddp_test.smddprun("-n", "2", "sh", "-c", "exit 7", env=env), 7)
                self.assert_status(smddp_test.smddprun("-n", "2", "/nonexistent", env=env), 127)

    def test_second_and_third_interrupt(self):
        deaf = f"trap '' INT TERM; {LOOP}"
        job = self.job(deaf, options=("--grace", "0.5"))
        job.send_signal(signal.SIGINT)
        time.sleep(0.3)
        self.assertIsNone(job.poll(), "one SIGINT is the ranks' own business")
        job.send_signal(signal.SIGINT)
        _, err = self.finish(job, 130)
        self.assertIn(b"second signal 2", err)
        job = self.job(deaf, options=("--grace", "60"))
        for _ in range(3):
            job.send_signal(signal.SIGTERM)
            time.sleep(0.1)
        self.finish(job, 143, 5)

    def test_stop_and_continue(self):
        job = self.job("echo ready; i=0; while [ $i -lt 20 ]; do sleep 0.05; i=$((i+1)); done; exit 12")
        job.send_signal(signal.SIGTSTP)
        pid, status = os.waitpid(job.pid, os.WUNTRACED)
        self.assertTrue(pid == job.pid and os.WIFSTOPPED(status))
        time.sleep(1.5)
        job.send_signal(signal.SIGCONT)
        begin = time.monotonic()
        self.finish(job, 12)
        self.assertGreater(time.monotonic() - begin, 0.3, "the ranks ran on while the launcher was stopped")

    def test_user_signals_spare_children_of_ranks(self):
        job = self.job("trap 'kill $child; exit 0' USR1; sh -c 'trap \"echo child; exit\" USR1; while :; do sleep 0.02; done' & child=$!; "
                       "sleep 0.2; echo ready; wait", ranks=1)
        job.send_signal(signal.SIGUSR1)
        out, _ = self.finish(job, 0)
        self.assertNotIn(b"child", out)

    def test_children_of_ranks_get_sigterm(self):
        job = self.job("trap 'wait; exit 0' TERM; sh -c 'trap \"echo child; exit\" TERM; while :; do sleep 0.02; done' & "
                       "sleep 0.2; echo ready; wait; exit 0", ranks=1)
        job.send_signal(signal.SIGTERM)
        out, _ = self.finish(job, 0)
        self.assertIn(b"[0] child", out)

    def test_process_groups(self):
        result = subprocess.run([SMDDPRUN, "-n", "3", "--no-prefix", "sh", "-c", "cut -d' ' -f1,5 /proc/$$/stat"], capture_output=True,
                                env=smddp_test.environment(), timeout=30)
        lines = result.stdout.split(b"\n")[:-1]
        self.assertEqual(len(lines), 3)
        for line in lines:
            pid, group = line.split()
            self.assertEqual(pid, group, "a rank leads its own group")
        self.assertTrue(until(lambda: not any(os.path.exists(f"/proc/{int(line.split()[0])}") for line in lines)))


if __name__ == "__main__":
    smddp_test.main()
