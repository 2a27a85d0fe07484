"""mpiexec of MPICH: addresses travel by PMI."""
# ctest: TIMEOUT 300 LABELS launchers
import launcher_job
import smddp_test


class Mpich(launcher_job.MpiLauncher, smddp_test.TestCase):
    PEER, RANK, SIZE = "mpich", "PMI_RANK", "PMI_SIZE"
    ON_HOSTS = ("-launcher", "ssh", "-launcher-exec", "SSH", "-hosts", "HOST1,HOST2", "-ppn", "2")

    def setUp(self):
        self.folder = launcher_job.peer(self, self.PEER)

    def launch(self, ranks, *command, before=(), options=(), **variables):
        return smddp_test.run(*before, str(self.folder / "bin" / "mpiexec"), *options, "-n", str(ranks), *command,
                              env=smddp_test.environment(**variables))


if __name__ == "__main__":
    smddp_test.main()
