"""PyTorch under smddprun finds its store's port free, and smddp-bench under torchrun finds its ranks."""
# ctest: TIMEOUT 300 LABELS torch
import json

import smddp_test
from smddp_test import BENCH, environment, run, smddprun

PYTHON = smddp_test.torch_python()

GLOO = """
import torch, torch.distributed as dist
dist.init_process_group("gloo")
t = torch.ones(1)
dist.all_reduce(t)
assert t.item() == dist.get_world_size(), t
dist.destroy_process_group()
"""


class Torch(smddp_test.TestCase):
    def setUp(self):
        if PYTHON is None:
            self.skipTest("no Python here has torch")

    def test_store_of_rank_0(self):
        for _ in range(3):
            self.assert_status(smddprun("-n", "2", PYTHON, "-c", GLOO, timeout=120), 0)

    def test_bench_under_torchrun(self):
        result = run(PYTHON, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "3", "--no-python", BENCH, "all", "-b", "4",
                     "-e", "4K", "-n", "4", "--json", "-", env=environment(OMP_NUM_THREADS="1"), timeout=120)
        self.assert_status(result, 0)
        data = json.loads(result.stdout)
        self.assertEqual((data["ranks"], data["wrong"]), (3, 0))

    def test_smddprun_under_torchrun(self):
        result = run(PYTHON, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2", "--no-python", smddp_test.SMDDPRUN, "sh",
                     "-c", 'echo "$SMDATAPARALLEL_WORLD_RANK/$SMDATAPARALLEL_WORLD_SIZE $SMDATAPARALLEL_LOCAL_RANK"',
                     env=environment(OMP_NUM_THREADS="1"), timeout=120)
        self.assert_status(result, 0)
        self.assertEqual(sorted(result.stdout.splitlines()), [b"0/2 0", b"1/2 1"])


if __name__ == "__main__":
    smddp_test.main()
