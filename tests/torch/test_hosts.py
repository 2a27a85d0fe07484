"""Several hosts, which are network namespaces here, with torchrun on each: DistributedDataParallel and the training example.

The test starts itself under torchrun as the ranks' program: test_hosts.py rank BACKEND PATH."""

import os
import subprocess
import sys
import tempfile

import torch
import torch.distributed as dist
from jobs import free_port, main, same
from test_ddp import plain_training
from test_examples import EXAMPLES, FIELDS, SMALL, SOURCE, make_images, result_of

sys.path.insert(0, os.path.join(SOURCE, "tests", "world"))
import hosts  # noqa: E402

ADDRESS = "10.77.0.1"


def rank_main(backend, path):
    torch.set_num_threads(1)
    dist.init_process_group(backend)
    plain_training(dist.get_rank(), dist.get_world_size(), path)
    dist.destroy_process_group()


def torchrun(network, host_count, ranks_each, *command, limit=300):
    """Runs a Python program on every host; returns the output of rank 0's."""
    port = str(free_port())
    environment = os.environ | {"OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "v0"}
    running = []
    for host in range(host_count):
        words = [*network.wrap(host), sys.executable, "-B", "-m", "torch.distributed.run", "--nnodes", str(host_count), "--node-rank", str(host),
                 "--nproc-per-node", str(ranks_each), "--master-addr", ADDRESS, "--master-port", port, *command]
        running.append(subprocess.Popen(words, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True))
    try:
        texts = [process.communicate(timeout=limit)[0] for process in running]
    finally:
        for process in running:
            if process.poll() is None:
                process.terminate()  # it ends its ranks
                process.communicate(timeout=60)
    codes = [process.returncode for process in running]
    assert codes == [0] * host_count, f"{command} on {host_count} hosts ended with {codes}:\n" + "\n".join(texts)
    return texts[0]


def trained(network, host_count, ranks_each, backend):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "result.pt")
        torchrun(network, host_count, ranks_each, os.path.abspath(__file__), "rank", backend, path)
        return torch.load(path)


def test_against_gloo():
    """The weights are the same on all ranks; on two ranks they have gloo's bits, on more the gradients are gloo's but for rounding."""
    for host_count, ranks_each in ((2, 1), (2, 2), (3, 1)):
        with hosts.Hosts(host_count) as network:
            before = network.sent_bytes(1)
            ours = trained(network, host_count, ranks_each, "smddp")
            assert network.sent_bytes(1) - before > ours["weights"].numel() * 4, "the gradients did not go over the network"
            theirs = trained(network, host_count, ranks_each, "gloo")
        if host_count * ranks_each == 2:
            same(ours["weights"], theirs["weights"], "weights after 20 steps, smddp and gloo")
        difference = ((ours["gradients"] - theirs["gradients"]).norm() / theirs["gradients"].norm()).item()
        assert difference <= 1e-6, f"first gradients on {host_count} hosts of {ranks_each} ranks differ from gloo's by {difference}"
        print(f"ok: {host_count} hosts of {ranks_each}", flush=True)


def test_example():
    """The training example over two hosts: the same losses to the last bit with smddp and gloo on two ranks; two ranks on each host."""
    with tempfile.TemporaryDirectory() as root, hosts.Hosts(2) as network:
        make_images(root)
        results = {}
        for backend, ranks_each in (("smddp", 1), ("gloo", 1), ("smddp", 2)):
            text = torchrun(network, 2, ranks_each, os.path.join(EXAMPLES, "train_efficientnet.py"), "--backend", backend, "--data", root, "--steps", "3", *SMALL)
            results[backend, ranks_each] = result = result_of(text)
            missing = [field for field in FIELDS if not isinstance(result.get(field), (int, float))]
            assert not missing, f"{missing} of {result}"
            assert result["backend"] == backend and result["ranks"] == 2 * ranks_each and result["steps"] == 3, result
        for field in ("loss_last_20", "test_accuracy"):
            assert results["smddp", 1][field] == results["gloo", 1][field], (field, results)


if __name__ == "__main__":
    if sys.argv[1:2] == ["rank"]:
        rank_main(*sys.argv[2:])
    elif hosts.why_not():
        print(f"SKIP: {hosts.why_not()}")
        sys.exit(77)
    else:
        main([test_against_gloo, test_example])
