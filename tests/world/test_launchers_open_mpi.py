"""mpirun of Open MPI: addresses travel by PMIx."""
# ctest: TIMEOUT 300 LABELS launchers
import os

import launcher_job
import smddp_test


class OpenMpi(launcher_job.MpiLauncher, smddp_test.TestCase):
    PEER, RANK, SIZE = "openmpi", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"
    DUPLICATE = "OMPI_COMM_WORLD_RANK=1, but PMIx has this process as rank 2"
    ON_HOSTS = ("--prtemca", "plm_ssh_agent", "SSH", "--prtemca", "prte_if_include", "v0", "--host", "HOST1:2,HOST2:2")

    def setUp(self):
        self.folder = launcher_job.peer(self, self.PEER)
        if os.environ.get("SMDDP_SANITIZER") == "thread":
            self.skipTest("ThreadSanitizer ends a forked process that starts threads, as the one that asks PMIx does")

    def launch(self, ranks, *command, before=(), options=(), **variables):
        return smddp_test.run(*before, str(self.folder / "bin" / "mpirun"), "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", *options,
                              "-n", str(ranks), *command, env=smddp_test.environment(OPAL_PREFIX=str(self.folder), **variables))


if __name__ == "__main__":
    smddp_test.main()
