"""The loader of the training example: equal numbers of steps on all ranks (rows 79, 80), loader processes that the CPUs bear (row 94)."""

import os
import re
import signal
import subprocess
import sys
import tempfile
import time

import torch
from jobs import environment, free_port, main
from test_examples import EXAMPLES, make_images, result_of, run, smddprun

sys.path.insert(0, EXAMPLES)
import data  # noqa: E402


def shares(count, size, batch, train, epoch=0):
    """The batches of indices that each rank gets of a data set whose images are their own numbers."""
    result = []
    for rank in range(size):
        loader, sampler = data.loader(range(count), rank, size, batch, 0, train, 1)
        sampler.set_epoch(epoch)
        result.append([part.tolist() for part in loader])
    return result


def test_training_steps():
    """Row 79: as many full batches on every rank as the data set has for all of them; in a few epochs every image is used."""
    for count in (0, 1, 6, 20, 21, 22, 100):
        seen = set()
        for epoch in range(100):
            ranks = shares(count, 7, 3, True, epoch)
            assert {len(batches) for batches in ranks} == {count // 7 // 3}, (count, ranks)
            used = [index for batches in ranks for part in batches for index in part]
            assert len(used) == len(set(used)) == count // 7 // 3 * 21, (count, ranks)
            seen.update(used)
        assert seen == set(range(count if count >= 21 else 0)), (count, seen)


def test_testing_steps():
    """Row 79, 80: as many steps on every rank; the data set begins anew as often as needed, also with fewer images than ranks."""
    for count, size, batch, steps in ((100, 7, 3, 5), (20, 7, 3, 1), (22, 7, 3, 2), (6, 7, 3, 1), (1, 7, 3, 1), (4, 9, 3, 1), (3, 7, 1, 1), (0, 2, 3, 0)):
        ranks = shares(count, size, batch, False)
        assert {len(batches) for batches in ranks} == {steps}, (count, ranks)
        used = [index for batches in ranks for part in batches for index in part]
        each = -(-count // size)
        assert {sum(map(len, batches)) for batches in ranks} == {each}, (count, ranks)
        times = [used.count(index) for index in range(count)]
        assert sum(times) == size * each and (not times or max(times) - min(times) <= 1), (count, times)
        assert count != 4 or min(times) >= 2


class Numbered(torch.utils.data.Dataset):
    """Images whose pixels are drawn at random from their number."""

    def __len__(self):
        return 50

    def __getitem__(self, index):
        return torch.randint(256, (1, 4, 4), generator=torch.Generator().manual_seed(index), dtype=torch.uint8), index


def test_workers_change_nothing():
    """Row 94: the same images in the same order, mirrored and moved alike, whatever the number of loader processes."""

    def epochs(workers):
        torch.manual_seed(3)
        loader, sampler = data.loader(Numbered(), 1, 2, 4, workers, True, 3)
        result = []
        for epoch in range(3):
            sampler.set_epoch(epoch)
            result += [(data.prepare(images, torch.device("cpu"), True), labels) for images, labels in loader]
        return result

    expected = epochs(0)
    assert len(expected) == 18
    for workers in (1, 3):
        for (images, labels), (right, right_labels) in zip(epochs(workers), expected, strict=True):
            assert torch.equal(labels, right_labels) and torch.equal(images, right), f"{workers} workers"


def test_too_few():
    """Row 80: too few images are an error before the group starts: a rank finds it alone, whether the others come or not."""
    with tempfile.TemporaryDirectory() as root:
        folder = os.path.join(root, "one")
        os.makedirs(folder)
        alone = [sys.executable]
        place = environment(3, 9, free_port())
        run_alone = lambda *words: run(alone, "train_efficientnet.py", "--data", root, "--batch", "1", *words, code=1, variables=place)
        assert f"--data {root}: Found no valid file" in run_alone(), "an empty folder"
        os.rmdir(folder)
        make_images(root)
        text = run_alone("--batch", "8")
        assert "are too few to train with batches of 8 on 9 ranks" in text and "Traceback" not in text, text
        text = run(smddprun(2), "train_efficientnet.py", "--data", root, "--batch", "100", code=1)
        assert text.count("are too few") == 2 or "on 2 ranks" in text, text


def test_worker_numbers():
    """Row 94: more loader processes than CPUs are cut down, in one line; what is learnt is the same."""
    with tempfile.TemporaryDirectory() as root:
        make_images(root)
        common = ["--data", root, "--epochs", "2", "--steps", "0", "--batch", "4", "--measure-blocks", "0", "--workers"]
        learnt = {}
        for cpus, ranks, workers, used in (("0", 2, 0, None), ("0", 2, 104, 0), ("0", 2, 8, 0), ("0", 2, -1, 0), ("", 2, -1, 1), ("", 2, 104, 1)):
            allowed = sorted(os.sched_getaffinity(0))
            if not cpus and len(allowed) < 2:
                continue
            cpus = str(allowed[0]) if cpus else f"{allowed[0]},{allowed[1]}"
            text = run(["taskset", "-c", cpus, *smddprun(ranks)], "train_efficientnet.py", *common, str(workers))
            result = result_of(text)
            assert result["steps"] == 8, result
            learnt[cpus, workers] = (result["loss_last_20"], result["test_accuracy"])
            notices = re.findall(r"--workers (-?\d+): (\d+) per rank are used", text)
            assert notices == ([] if used is None else [(str(workers), str(used))]), text
        assert len(set(learnt.values())) == 1, learnt


def children(pid):
    """Processes that pid has started and that still run."""
    found = []
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{entry}/stat") as file:
                state, parent = file.read().rpartition(")")[2].split()[:2]
        except OSError:
            continue
        if int(parent) == pid and state != "Z":
            found.append(int(entry))
    return found


def test_killed_worker():
    """Row 94: a loader process that is killed ends the job, with its number in the error."""
    with tempfile.TemporaryDirectory() as root:
        make_images(root)
        port, ranks = free_port(), []
        command = [sys.executable, os.path.join(EXAMPLES, "train_efficientnet.py"), "--data", root, "--batch", "4", "--steps", "100000", "--workers", "1"]
        for rank in range(2):
            # As if the machine had a CPU for each, so that there is a loader process on any.
            own = os.environ | environment(rank, 2, port) | {"OMP_NUM_THREADS": "1", "LOCAL_WORLD_SIZE": "1"}
            ranks.append(subprocess.Popen(command, env=own, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True))
        try:
            end = time.monotonic() + 200
            while not (workers := children(ranks[1].pid)) and time.monotonic() < end:
                time.sleep(0.1)
            time.sleep(2)
            os.kill(workers[0], signal.SIGKILL)
            begin = time.monotonic()
            texts = [process.communicate(timeout=100)[0] for process in ranks]
            assert time.monotonic() - begin < 60, time.monotonic() - begin
            assert all(process.returncode not in (0, None) for process in ranks), texts
            assert re.search(rf"worker \(pid(\(s\))? {workers[0]}\)", texts[1]), texts[1]
            assert "rank 1" in texts[0], texts[0]
        finally:
            for process in ranks:
                process.kill()
                process.wait()


if __name__ == "__main__":
    main([test_training_steps, test_testing_steps, test_workers_change_nothing, test_too_few, test_worker_numbers, test_killed_worker])
