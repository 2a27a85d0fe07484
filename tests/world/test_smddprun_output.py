"""Output of ranks: whole lines, prefixes, bytes as they were, and a launcher that a slow or vanished reader cannot hang."""
# ctest: TIMEOUT 120
import os
import pty
import re
import select
import subprocess
import sys
import time

import smddp_test
from smddp_test import SMDDPRUN, smddprun, start

PYTHON = (sys.executable, "-S", "-E", "-c")


class Output(smddp_test.TestCase):
    def test_lines_never_mix(self):
        # Each line is written in pieces, by four ranks at once, some lines far longer than a pipe holds.
        code = ("import os\nr=int(os.environ['RANK'])\n"
                "for i in range(200):\n"
                "  n = 200000 if i % 50 == 0 else 50\n"
                "  for part in (b'%d:%d:' % (r, i), b'abcdefghij'[r:r+1] * n, b'\\n'): os.write(1 + i % 2, part)\n")
        result = smddprun("-n", "4", *PYTHON, code)
        self.assert_status(result, 0)
        for parity, stream in enumerate((result.stdout, result.stderr)):
            counts = [parity] * 4
            for line in stream.splitlines():
                match = re.fullmatch(rb"\[(\d)\] (\d):(\d+):(a+|b+|c+|d+)", line)
                self.assertTrue(match, line[:100])
                rank, index = int(match[2]), int(match[3])
                self.assertEqual(int(match[1]), rank)
                self.assertEqual(index, counts[rank])
                self.assertEqual(len(match[4]), 200000 if index % 50 == 0 else 50)
                counts[rank] += 2
            self.assertEqual(counts, [200 + parity] * 4)

    def test_one_pipe_for_both_streams(self):
        code = ("import os\nr=os.environ['RANK'].encode()\n"
                "for i in range(100): os.write(1, r * 9000 + b'\\n'); os.write(2, r * 9000 + b'\\n')\n")
        result = subprocess.run([SMDDPRUN, "-n", "3", *PYTHON, code], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60,
                                env=smddp_test.environment())
        self.assert_status(subprocess.CompletedProcess(result.args, result.returncode, result.stdout, b""), 0)
        lines = result.stdout.splitlines()
        self.assertEqual(len(lines), 600)
        for line in lines:
            self.assertTrue(re.fullmatch(rb"\[(\d)\] \1{9000}", line), line[:50])

    def test_bytes(self):
        data = bytes(range(256)) * 1000
        result = smddprun("-n", "1", "--no-prefix", "cat", input=data, stdin=None)
        self.assertEqual(result.stdout, data)
        self.assert_status(result, 0)
        result = smddprun("-n", "1", "cat", input=data, stdin=None)
        self.assertEqual(result.stdout, b"[0] " + data.replace(b"\n", b"\n[0] "))

    def test_unterminated_last_lines(self):
        result = smddprun("-n", "1", "printf", "a\nb")
        self.assertEqual(result.stdout, b"[0] a\n[0] b")
        result = smddprun("-n", "3", "sh", "-c", 'printf "end of $RANK"')
        self.assertEqual(sorted(result.stdout.split(b"\n")), [b"[0] end of 0", b"[1] end of 1", b"[2] end of 2"])

    def test_streams_stay_apart(self):
        result = smddprun("-n", "2", "sh", "-c", "echo out; echo err >&2")
        self.assertEqual(sorted(result.stdout.splitlines()), [b"[0] out", b"[1] out"])
        self.assertEqual(sorted(result.stderr.splitlines()), [b"[0] err", b"[1] err"])

    def test_input_goes_to_rank_0(self):
        result = smddprun("-n", "3", "sh", "-c", "wc -c", input=b"x" * 100000, stdin=None)
        self.assertEqual(sorted(result.stdout.splitlines()), [b"[0] 100000", b"[1] 0", b"[2] 0"])

    def test_last_words_come_before_the_verdict(self):
        result = smddprun("-n", "2", "sh", "-c", "[ $RANK = 1 ] && echo cause >&2 && exit 4; sleep 60")
        self.assert_status(result, 4)
        self.assertLess(result.stderr.index(b"cause"), result.stderr.index(b"smddprun:"))

    def test_reader_that_leaves(self):
        job = start(SMDDPRUN, "-n", "2", "sh", "-c", "while echo line; do :; done 2>/dev/null; exit 9")
        job.stdout.readline()
        job.stdout.close()
        self.assertIn(job.wait(10), (9, 141))
        job.stderr.close()

    def test_slow_reader_does_not_hang_the_launcher(self):
        job = start(SMDDPRUN, "-n", "2", "sh", "-c", "[ $RANK = 0 ] && exec yes; sleep 1; exit 6")
        time.sleep(2)
        total = 0
        while block := job.stdout.read1(1 << 20):
            total += len(block)
        self.assertEqual(job.wait(10), 6)
        self.assertLess(total, 16 << 20, "a rank runs far ahead of the reader")
        job.stdout.close()
        job.stderr.close()

    def test_closed_standard_streams(self):
        result = smddp_test.run("sh", "-c", f"exec '{SMDDPRUN}' -n 2 sh -c 'echo x; exit $RANK' <&- >&- 2>&-")
        self.assert_status(result, 1)

    def terminal(self, script, keys=b"", seconds=20):
        """Runs a job on a terminal; keys are typed when the prompt has come. Returns what the terminal showed and the status."""
        pid, terminal = pty.fork()
        if pid == 0:
            try:
                os.execve(SMDDPRUN, [SMDDPRUN, "-n", "2", "sh", "-c", script], smddp_test.environment())
            finally:
                os._exit(99)
        shown, end = b"", time.monotonic() + seconds
        while time.monotonic() < end:
            if not select.select([terminal], [], [], 0.1)[0]:
                continue
            try:
                block = os.read(terminal, 65536)
            except OSError:
                break
            shown += block
            if keys and b"name? " in shown:
                os.write(terminal, keys)
                keys = b""
        os.close(terminal)
        return shown, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

    def test_terminal_prompt_and_input(self):
        shown, status = self.terminal('[ $RANK = 0 ] || exit 0; printf "name? "; read name; echo "hello $name"', b"Ada\n")
        self.assertEqual(status, 0, shown)
        self.assertIn(b"[0] name? ", shown)
        self.assertIn(b"hello Ada", shown)

    def test_terminal_interrupt(self):
        shown, status = self.terminal('[ $RANK = 0 ] && printf "name? "; exec sleep 60', b"\x03")
        self.assertEqual(status, 130, shown)


if __name__ == "__main__":
    smddp_test.main()
