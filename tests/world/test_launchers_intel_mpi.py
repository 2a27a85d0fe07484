"""mpiexec of Intel MPI: addresses travel by PMI; it binds each rank to a core."""
# ctest: TIMEOUT 300 LABELS launchers
import launcher_job
import smddp_test


class IntelMpi(launcher_job.MpiLauncher, smddp_test.TestCase):
    PEER, RANK, SIZE = "impi", "PMI_RANK", "PMI_SIZE"
    ON_HOSTS = ("-bootstrap", "ssh", "-bootstrap-exec", "SSH", "-hosts", "HOST1,HOST2", "-ppn", "2")

    def setUp(self):
        self.folder = launcher_job.peer(self, self.PEER)

    def launch(self, ranks, *command, before=(), options=(), **variables):
        env = smddp_test.environment(I_MPI_ROOT=str(self.folder), I_MPI_FABRICS="shm", **variables)
        return smddp_test.run(*before, str(self.folder / "bin" / "mpiexec"), *options, "-n", str(ranks), *command, env=env)


if __name__ == "__main__":
    smddp_test.main()
