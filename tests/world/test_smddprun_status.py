"""smddprun's exit status is that of the rank that failed first, and nothing outlives a failure. argv[1]: how often."""
# ctest: TIMEOUT 300 SOAK 300
import os
import signal
import sys
import tempfile

import smddp_test
from smddp_test import smddprun

REPEAT = int(sys.argv.pop(1)) if len(sys.argv) > 1 and sys.argv[1].isdigit() else 30


class Status(smddp_test.TestCase):
    def test_all_fail_alike(self):
        for number in range(REPEAT):
            with self.subTest(run=number):
                self.assert_status(smddprun("-n", "2", "sh", "-c", "exit 3"), 3)

    def test_all_succeed(self):
        for number in range(max(10, REPEAT // 10)):
            with self.subTest(run=number):
                self.assert_status(smddprun("-n", "4", "true"), 0)

    def test_first_failure_wins(self):
        # Rank 1 ends, and only that lets the others fail: they see its descriptors close as peers see its connections. Busy
        # processes make it likely that they overtake it on the way to their own end.
        script = ('cd "$0"; if [ $RANK = 1 ]; then exec 7>0 8>2 9>3; exit 7; fi; read line < $RANK; exit 1')
        busy = [smddp_test.start("sh", "-c", "while :; do :; done") for _ in range(4)]
        try:
            for number in range(REPEAT):
                with tempfile.TemporaryDirectory() as folder, self.subTest(run=number):
                    for rank in (0, 2, 3):
                        os.mkfifo(f"{folder}/{rank}")
                    result = smddprun("-n", "4", "sh", "-c", script, folder)
                    self.assert_status(result, 7)
                    self.assert_says(result, "rank 1 exited with status 7")
                    self.assertLess(result.seconds, 10)
        finally:
            for process in busy:
                process.kill()
                process.communicate()

    def test_signals(self):
        for number, name in ((signal.SIGSEGV, "SIGSEGV"), (signal.SIGABRT, "SIGABRT"), (signal.SIGKILL, "SIGKILL")):
            with self.subTest(signal=name):
                result = smddprun("-n", "3", "sh", "-c", f"[ $RANK = 2 ] && kill -{int(number)} $$; sleep 60")
                self.assert_status(result, 128 + number)
                self.assert_says(result, f"rank 2 was ended by signal {int(number)} ({name}")
                self.assertLess(result.seconds, 10)

    def test_survivors_get_sigterm_then_sigkill(self):
        polite = "trap 'echo bye; exit 0' TERM; [ $RANK = 0 ] && sleep 0.3 && exit 5; while :; do sleep 0.05; done"
        result = smddprun("-n", "2", "sh", "-c", polite)
        self.assert_status(result, 5)
        self.assertEqual(result.stdout, b"[1] bye\n")
        deaf = "trap '' TERM; [ $RANK = 0 ] && sleep 0.3 && exit 5; while :; do sleep 0.05; done"
        result = smddprun("--grace", "0.5", "-n", "2", "sh", "-c", deaf)
        self.assert_status(result, 5)
        self.assertGreater(result.seconds, 0.4)
        self.assertLess(result.seconds, 5)
        stopped = "[ $RANK = 0 ] && sleep 0.3 && exit 5; kill -STOP $$"
        result = smddprun("-n", "2", "sh", "-c", stopped)
        self.assert_status(result, 5)
        self.assertLess(result.seconds, 4, "a stopped rank is continued to see SIGTERM")

    def test_timeout(self):
        result = smddprun("--timeout", "0.5", "-n", "2", "sleep", "60")
        self.assert_status(result, 124)
        self.assert_says(result, "has not ended within 0.5 s")
        self.assertLess(result.seconds, 5)
        self.assert_status(smddprun("--timeout", "30", "-n", "2", "true"), 0)

    def test_program_that_cannot_run(self):
        result = smddprun("-n", "3", "no-such-program-here")
        self.assert_status(result, 127)
        self.assertEqual(result.stderr, b"smddprun: cannot run 'no-such-program-here': No such file or directory\n")
        result = smddprun("-n", "2", "/")
        self.assert_status(result, 126)
        self.assert_says(result, "cannot run '/': Permission denied")
        self.assert_status(smddprun("-n", "1", ""), 127)

    def test_many_ranks(self):
        result = smddprun("-n", "100", "sh", "-c", "echo $RANK")
        self.assert_status(result, 0)
        self.assertEqual(sorted(result.stdout.split(b"\n")), sorted([b""] + [b"[%d] %d" % (r, r) for r in range(100)]))


if __name__ == "__main__":
    smddp_test.main()
