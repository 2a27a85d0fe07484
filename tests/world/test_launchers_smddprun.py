"""smddprun on this machine, and on hosts that a script pretends."""
# ctest: TIMEOUT 300 LABELS launchers
import os
import shutil
import tempfile

import launcher_job
import smddp_test


class Smddprun(launcher_job.Launcher, smddp_test.TestCase):
    RANK, SIZE = "RANK", "WORLD_SIZE"
    OPTIONS = ()
    test_rank_0_that_fails_is_heard = None  # it chooses no interface
    test_job_id_differs = None  # smddprun gives it

    def launch(self, ranks, *command, **variables):
        return smddp_test.run(smddp_test.SMDDPRUN, *self.OPTIONS, "-n", str(ranks), "--no-prefix", *command,
                              env=smddp_test.environment(**variables))


class SmddprunOnHosts(Smddprun):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="smddp-launcher-")
        self.addCleanup(shutil.rmtree, self.folder)
        with open(f"{self.folder}/rsh", "w") as file:
            file.write('#!/bin/sh\nshift\nexec "$@"\n')
        os.chmod(file.name, 0o755)
        self.OPTIONS = ("--hosts", "a,b:2,c", "--rsh", file.name)

    def test_through_smddprun(self):
        self.assert_status(self.launch(3, smddp_test.SMDDPRUN, launcher_job.PROGRAM, "sum"), 0)


if __name__ == "__main__":
    smddp_test.main()
