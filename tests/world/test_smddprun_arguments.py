"""Arguments and environment reach the ranks byte for byte, and only documented variables are added."""
# ctest: TIMEOUT 120
import os
import subprocess
import sys
import tempfile

import smddp_test
from smddp_test import SMDDPRUN, smddprun

RANK_VARIABLES = {b"RANK", b"WORLD_SIZE", b"LOCAL_RANK", b"LOCAL_WORLD_SIZE", b"MASTER_ADDR", b"MASTER_PORT",
                  b"SMDATAPARALLEL_WORLD_RANK", b"SMDATAPARALLEL_WORLD_SIZE", b"SMDATAPARALLEL_LOCAL_RANK",
                  b"SMDDP_JOB_ID", b"SMDDP_BOOTSTRAP_ADDRESS", b"SMDDP_BOOTSTRAP_PORT"}

# Writes what the kernel has: no language's own idea of arguments is between.
DUMP = 'import os,sys; p = sys.argv.pop(1); r = os.environ["RANK"]; ' \
       'open(p + "/argv" + r, "wb").write(open("/proc/self/cmdline", "rb").read()); ' \
       'open(p + "/env" + r, "wb").write(open("/proc/self/environ", "rb").read())'


class Arguments(smddp_test.TestCase):
    def dump(self, arguments, env, ranks=2, options=()):
        with tempfile.TemporaryDirectory() as folder:
            program = [os.fsencode(sys.executable), b"-S", b"-c", DUMP.encode(), os.fsencode(folder)]
            command = [os.fsencode(SMDDPRUN), b"-n", str(ranks).encode(), *options, *program, *arguments]
            result = subprocess.run(command, env=env, capture_output=True, timeout=60)
            self.assert_status(result, 0)
            argv, environ = [], []
            for rank in range(ranks):
                with open(f"{folder}/argv{rank}", "rb") as file:
                    argv.append(file.read().split(b"\0")[:-1][len(program):])
                with open(f"{folder}/env{rank}", "rb") as file:
                    environ.append(file.read().split(b"\0")[:-1])
            return argv, environ

    def test_arguments(self):
        arguments = [b"a b", b"", b"$HOME", b"*", b"x'y", "é".encode(), b"--", b"-x", b"-n", b"5", b"--help", b'"', b"\\", b"\xff\xfe",
                     b"new\nline", b"--np=3", b"[1,2]", b"{a}", b"%s", b"-"]
        argv, _ = self.dump(arguments, {"PATH": os.environ["PATH"]})
        for rank in range(2):
            self.assertEqual(argv[rank], arguments)

    def test_double_dash_before_the_program(self):
        result = smddprun("-n", "1", "--no-prefix", "--", "printf", "%s,", "--", "-n")
        self.assert_status(result, 0)
        self.assertEqual(result.stdout, b"--,-n,")

    def test_environment(self):
        env = {b"PATH": os.fsencode(os.environ["PATH"]), b"V": b"a b", b"NL": b"line\nbreak", b"FOO.BAR": b"1", b"BASH_FUNC_f%%": b"() {  :\n}",
               b"EMPTY": b"", b"BYTES": b"\xff\xfe\x01", b"EQUALS": b"=a=b=", b"RANK": b"77", b"SMDDP_BOOTSTRAP_FD": b"99"}
        _, environ = self.dump([], env)
        for rank in range(2):
            entries = environ[rank]
            seen = dict(entry.split(b"=", 1) for entry in entries)
            self.assertEqual(len(seen), len(entries), "a variable stands twice")
            added = set(seen) - set(env)
            self.assertLessEqual(added, RANK_VARIABLES)
            self.assertEqual(b"SMDDP_BOOTSTRAP_FD" in seen, rank == 0)
            for name in set(env) - {b"RANK", b"SMDDP_BOOTSTRAP_FD"}:
                self.assertEqual(seen[name], env[name])
            self.assertLessEqual(RANK_VARIABLES, set(seen))
            text = b"%d" % rank
            for name in (b"RANK", b"LOCAL_RANK", b"SMDATAPARALLEL_WORLD_RANK", b"SMDATAPARALLEL_LOCAL_RANK"):
                self.assertEqual(seen[name], text, name)
            for name in (b"WORLD_SIZE", b"LOCAL_WORLD_SIZE", b"SMDATAPARALLEL_WORLD_SIZE"):
                self.assertEqual(seen[name], b"2", name)
        unordered = [entry for entry in environ[0] if entry.split(b"=", 1)[0] in env and not entry.startswith((b"RANK=", b"SMDDP_"))]
        self.assertEqual(unordered, [name + b"=" + value for name, value in env.items() if name not in (b"RANK", b"SMDDP_BOOTSTRAP_FD")])
        job = [dict(e.split(b"=", 1) for e in entries)[b"SMDDP_JOB_ID"] for entries in environ]
        self.assertEqual(job[0], job[1])

    def test_entries_that_are_no_variables(self):
        # env(1) of the C library keeps an entry without '='; only execve can make one.
        script = "import os,sys,ctypes; libc = ctypes.CDLL(None); a = (ctypes.c_char_p * 7)(*[x.encode() for x in sys.argv[1:7]], None); " \
                 "e = (ctypes.c_char_p * 4)(b'NOEQUALS', b'TWICE=1', b'TWICE=2', None); libc.execve(a[0], a, e)"
        result = smddp_test.run(sys.executable, "-c", script, SMDDPRUN, "-n", "1", "--no-prefix", "/bin/cat", "/proc/self/environ")
        self.assert_status(result, 0)
        self.assertEqual(result.stdout.split(b"\0")[:3], [b"NOEQUALS", b"TWICE=1", b"TWICE=2"])

    def test_job_ids_differ(self):
        ids = {smddprun("-n", "1", "sh", "-c", "echo $SMDDP_JOB_ID").stdout for _ in range(5)}
        self.assertEqual(len(ids), 5)

    def test_option_x(self):
        result = smddprun("-n", "1", "-x", "A=b c=d", "-xB=1", "-x", "HOME", "-x", "C=[1,2]", "--no-prefix", "sh", "-c", 'echo "$A|$B|$C"')
        self.assert_status(result, 0)
        self.assertEqual(result.stdout, b"b c=d|1|[1,2]\n")
        for bad, sentence in (("=1", "is not NAME=VALUE"), ("RANK=3", "sets this variable itself")):
            result = smddprun("-n", "1", "-x", bad, "true")
            self.assert_status(result, 125)
            self.assert_says(result, sentence)

    def test_refusals(self):
        cases = ((("-n", "0", "true"), "-n"), (("-n", "-1", "true"), "-1"), (("-n", "two", "true"), "two"), (("-n", "9999999", "true"), "9999999"),
                 (("-n", "2"), "no program"), ((), "no program"), (("--nonsense", "true"), "--nonsense"),
                 (("--hosts", "a:x", "-n", "2", "true"), "--hosts"), (("--rsh=ssh", "-n", "2", "true"), "--rsh"),
                 (("--hostfile", "h", "-n", "2", "true"), "--hostfile"), (("--servers", "2", "true"), "--servers needs -n or --hosts"),
                 (("--servers", "0", "-n", "2", "true"), "--servers"), (("--tag", "--no-prefix", "true"), "--no-prefix"),
                 (("--grace", "-1", "-n", "2", "true"), "-1"), (("--timeout", "nan", "-n", "2", "true"), "nan"))
        for arguments, text in cases:
            with self.subTest(arguments=arguments):
                result = smddprun(*arguments)
                self.assert_status(result, 125)
                self.assert_says(result, text)
                self.assertEqual(result.stderr.count(b"\n"), 1, "one sentence")
                self.assertEqual(result.stdout, b"")

    def test_help_and_version(self):
        result = smddprun("--help")
        self.assert_status(result, 0)
        for text in (b"-n,--np", b"--tag", b"--no-prefix", b"--grace", b"--timeout", b"-x", b"SMDDP_BOOTSTRAP_FD", b"Exit status"):
            self.assertIn(text, result.stdout)
        result = smddprun("--version")
        self.assert_status(result, 0)
        self.assertRegex(result.stdout, rb"^smddprun \d+\.\d+\.\d+\n$")


if __name__ == "__main__":
    smddp_test.main()
