"""srun: ranks meet on the first host of their step, also where Slurm offers PMI."""
# ctest: TIMEOUT 300 LABELS launchers
import launcher_job
import slurm_cluster
import smddp_test


class Slurm(launcher_job.Shared, launcher_job.Launcher, smddp_test.TestCase):
    RANK, SIZE = "SLURM_PROCID", "SLURM_NTASKS"
    test_rank_0_that_fails_is_heard = None  # it chooses no interface
    MPI = "none"
    make = slurm_cluster.Cluster

    def launch(self, ranks, *command, **variables):
        return smddp_test.run(self.resource.srun, f"--mpi={self.MPI}", "--overcommit", "-n", str(ranks), *command,
                              env=self.resource.environment(**variables), timeout=90)

    def test_steps_beside_each_other(self):
        jobs = [smddp_test.start(self.resource.srun, "-n", "2", launcher_job.PROGRAM, "sum", env=self.resource.environment()) for _ in range(4)]
        for job in jobs:
            _, err = job.communicate(timeout=90)
            self.assertEqual(job.returncode, 0, err)


class SlurmWithPmi(Slurm):
    """Slurm's PMI is begun by nobody, so that MPI may."""

    MPI = "pmi2"


if __name__ == "__main__":
    smddp_test.main()
