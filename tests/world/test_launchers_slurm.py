"""srun: ranks meet on the first host of their step, also where Slurm offers PMI."""
# ctest: TIMEOUT 300 LABELS launchers
import launcher_job
import slurm_cluster
import smddp_test


class Slurm(launcher_job.Launcher, smddp_test.TestCase):
    RANK, SIZE = "SLURM_PROCID", "SLURM_NTASKS"
    test_rank_0_that_fails_is_heard = None  # it chooses no interface
    MPI = "none"
    cluster = problem = None

    @classmethod
    def setUpClass(cls):
        try:
            cls.cluster = slurm_cluster.Cluster()
        except slurm_cluster.Unavailable as problem:
            cls.problem = str(problem)

    @classmethod
    def tearDownClass(cls):
        if cls.cluster:
            cls.cluster.stop()

    def setUp(self):
        if self.problem:
            self.skipTest(self.problem)

    def launch(self, ranks, *command, **variables):
        return smddp_test.run(self.cluster.srun, f"--mpi={self.MPI}", "--overcommit", "-n", str(ranks), *command,
                              env=self.cluster.environment(**variables), timeout=90)

    def test_steps_beside_each_other(self):
        jobs = [smddp_test.start(self.cluster.srun, "-n", "2", launcher_job.PROGRAM, "sum", env=self.cluster.environment()) for _ in range(4)]
        for job in jobs:
            _, err = job.communicate(timeout=90)
            self.assertEqual(job.returncode, 0, err)


class SlurmWithPmi(Slurm):
    """Slurm's PMI is begun by nobody, so that MPI may."""

    MPI = "pmi2"


if __name__ == "__main__":
    smddp_test.main()
