"""torchrun --no-python: a C program meets beside torchrun's store."""
# ctest: TIMEOUT 300 LABELS torch launchers
import launcher_job
import smddp_test

PYTHON = smddp_test.torch_python()


class Torchrun(launcher_job.Launcher, smddp_test.TestCase):
    RANK, SIZE = "RANK", "WORLD_SIZE"
    test_rank_0_that_fails_is_heard = None  # it chooses no interface

    def setUp(self):
        if PYTHON is None:
            self.skipTest("no Python here has torch")

    def launch(self, ranks, *command, **variables):
        return smddp_test.run(PYTHON, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(ranks), "--no-python", *command,
                              env=smddp_test.environment(OMP_NUM_THREADS="1", **variables), timeout=120)


if __name__ == "__main__":
    smddp_test.main()
