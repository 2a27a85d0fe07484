"""Without -n under another launcher, smddprun translates its variables and becomes the program."""
# ctest: TIMEOUT 60
import os

import smddp_test
from smddp_test import SMDDPRUN, environment, run, start

NAMES = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "SMDATAPARALLEL_WORLD_RANK", "SMDATAPARALLEL_WORLD_SIZE",
         "SMDATAPARALLEL_LOCAL_RANK")

CASES = {
    "torchrun": ({"RANK": "5", "WORLD_SIZE": "8", "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "4"}, "5 8 1 4 5 8 1"),
    "Open MPI": ({"OMPI_COMM_WORLD_RANK": "3", "OMPI_COMM_WORLD_SIZE": "4", "OMPI_COMM_WORLD_LOCAL_RANK": "1",
                  "OMPI_COMM_WORLD_LOCAL_SIZE": "2"}, "3 4 1 2 3 4 1"),
    "PMI": ({"PMI_RANK": "2", "PMI_SIZE": "3", "MPI_LOCALRANKID": "0", "MPI_LOCALNRANKS": "1"}, "2 3 0 1 2 3 0"),
    "PMI without local rank": ({"PMI_RANK": "2", "PMI_SIZE": "3"}, "2 3 - - 2 3 -"),
    "Slurm": ({"SLURM_PROCID": "6", "SLURM_NTASKS": "9", "SLURM_STEP_NUM_TASKS": "7", "SLURM_LOCALID": "2", "SLURM_NODEID": "2",
               "SLURM_STEP_TASKS_PER_NODE": "2(x2),3"}, "6 7 2 3 6 7 2"),
    "Slurm with PMI": ({"SLURM_PROCID": "1", "SLURM_NTASKS": "2", "SLURM_LOCALID": "1", "SLURM_JOB_ID": "7", "SLURM_STEP_ID": "0",
                        "PMI_RANK": "1", "PMI_SIZE": "2", "PMI_JOBID": "7.0"}, "1 2 1 - 1 2 1"),
    "torchrun before Open MPI": ({"RANK": "1", "WORLD_SIZE": "2", "LOCAL_RANK": "1", "OMPI_COMM_WORLD_RANK": "0",
                                  "OMPI_COMM_WORLD_SIZE": "1"}, "1 2 1 - 1 2 1"),
}


class Launchers(smddp_test.TestCase):
    def test_translation(self):
        for name, (variables, expected) in CASES.items():
            with self.subTest(launcher=name):
                script = "echo " + " ".join(f"${{{variable}--}}" for variable in NAMES)
                result = run(SMDDPRUN, "sh", "-c", script, env=environment(**variables))
                self.assert_status(result, 0)
                self.assertEqual(result.stdout.decode().strip(), expected)
                self.assertEqual(b"warning" in result.stderr, name.startswith("torchrun before"), result.stderr)

    def test_nothing_else_is_added(self):
        env = environment(OMPI_COMM_WORLD_RANK="0", OMPI_COMM_WORLD_SIZE="1", OMPI_COMM_WORLD_LOCAL_RANK="0")
        result = run(SMDDPRUN, "cat", "/proc/self/environ", env=env)
        added = {entry.split(b"=")[0].decode() for entry in result.stdout.split(b"\0")[:-1]} - set(env)
        self.assertEqual(added, set(NAMES) - {"LOCAL_WORLD_SIZE"})

    def test_in_place(self):
        job = start(SMDDPRUN, "sh", "-c", "echo $$; exit 9", env=environment(PMI_RANK="0", PMI_SIZE="1"))
        out, _ = job.communicate(timeout=20)
        self.assertEqual(out, b"%d\n" % job.pid)
        self.assertEqual(job.returncode, 9)

    def test_inside_smddprun(self):
        result = smddp_test.smddprun("-n", "2", SMDDPRUN, "sh", "-c", "echo $RANK $WORLD_SIZE $SMDDP_BOOTSTRAP_PORT")
        self.assert_status(result, 0)
        lines = sorted(result.stdout.split(b"\n")[:-1])
        self.assertEqual([line.split()[:3] for line in lines], [[b"[0]", b"0", b"2"], [b"[1]", b"1", b"2"]])
        self.assertEqual(lines[0].split()[3], lines[1].split()[3])

    def test_n_wins_over_the_environment(self):
        result = run(SMDDPRUN, "-n", "2", "sh", "-c", "echo $RANK/$WORLD_SIZE", env=environment(RANK="7", WORLD_SIZE="9"))
        self.assertEqual(sorted(result.stdout.splitlines()), [b"[0] 0/2", b"[1] 1/2"])

    def test_no_launcher(self):
        result = run(SMDDPRUN, "sh", "-c", "echo $RANK/$WORLD_SIZE $SMDDP_BOOTSTRAP_FD")
        self.assertRegex(result.stdout, rb"^\[0\] 0/1 \d+\n$")

    def test_bad_values(self):
        for variables, text in (({"RANK": "2x", "WORLD_SIZE": "4"}, "RANK='2x'"), ({"RANK": "4", "WORLD_SIZE": "4"}, "RANK=4"),
                                ({"RANK": "-1", "WORLD_SIZE": "4"}, "RANK='-1'"), ({"RANK": "", "WORLD_SIZE": "4"}, "RANK=''"),
                                ({"RANK": "0", "WORLD_SIZE": "0"}, "WORLD_SIZE=0"), ({"PMI_RANK": "0", "PMI_SIZE": "abc"}, "PMI_SIZE='abc'"),
                                ({"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "1", "OMPI_COMM_WORLD_LOCAL_RANK": "z"}, "LOCAL_RANK='z'")):
            with self.subTest(variables=variables):
                result = run(SMDDPRUN, "true", env=environment(**variables))
                self.assert_status(result, 125)
                self.assert_says(result, text)

    def test_program_that_cannot_run(self):
        env = environment(RANK="0", WORLD_SIZE="1")
        self.assert_status(run(SMDDPRUN, "no-such-program-here", env=env), 127)
        self.assert_status(run(SMDDPRUN, os.sep, env=env), 126)


if __name__ == "__main__":
    smddp_test.main()
