"""The training example: the same script over every launcher and backend, folders of JPEG files with damaged ones among them."""

import json
import os
import shutil
import subprocess
import sys
import tempfile

from jobs import free_port, main
from PIL import Image

SOURCE = os.environ.get("SMDDP_SOURCE_DIR", os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
EXAMPLES = os.path.join(SOURCE, "examples/torch")
FIELDS = (
    "images_per_second step_ms no_sync_step_ms exposed_communication_ms one_rank_images_per_second independent_images_per_second "
    "scaling_efficiency scaling_ceiling loss_last_20 test_accuracy"
).split()


def make_images(root):
    """Two classes of 20 files, some of them odd: grey, CMYK, a PNG under a JPEG's name, cut off, empty, with names of all kinds."""
    for number, name in enumerate(("red", "blau grün")):
        folder = os.path.join(root, name)
        os.makedirs(folder)
        for i in range(20):
            colour = (200 - 150 * number, 10 * i, 50 + 150 * number)
            Image.new("RGB", (48, 40), colour).save(os.path.join(folder, f"{i} é.jpg"), quality=90)
        Image.new("L", (30, 30), 128).save(os.path.join(folder, "1 é.jpg"))
        Image.new("CMYK", (30, 30), (255, 0, 0, 0)).save(os.path.join(folder, "2 é.jpg"))
        Image.new("RGB", (30, 30), (1, 2, 3)).save(os.path.join(folder, "3 é.jpg"), format="PNG")
        cut = os.path.join(folder, "4 é.jpg")
        with open(cut, "rb+") as file:
            file.truncate(os.path.getsize(cut) * 2 // 3)
        open(os.path.join(folder, "5 é.jpg"), "wb").close()


def run(launcher, script, *arguments, code=0, variables=None):
    """Runs an example, with further environment variables; returns its output."""
    done = subprocess.run(
        [*launcher, os.path.join(EXAMPLES, script), *arguments],
        env=os.environ | {"OMP_NUM_THREADS": "1"} | (variables or {}),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=400,
    )
    assert done.returncode == code, f"{script} {arguments} ended with {done.returncode}: {done.stdout}"
    return done.stdout


def result_of(text):
    """The last line that holds JSON, whatever the launcher puts before it."""
    line = [line for line in text.splitlines() if "{" in line][-1]
    return json.loads(line[line.index("{") :])


def torchrun(ranks):
    return [sys.executable, "-m", "torch.distributed.run", "--master-port", str(free_port()), "--nproc-per-node", str(ranks)]


def smddprun(ranks):
    found = shutil.which("smddprun", path=os.path.join(os.environ.get("SMDDP_BUILD_DIR", ""), "bin") + os.pathsep + os.environ["PATH"])
    assert found, "no smddprun in the build tree or on PATH"
    return [found, "-n", str(ranks), sys.executable]


SMALL = "--batch 4 --measure-blocks 1 --measure-steps 1".split()


def test_backends():
    """The same losses to the last bit with smddp and gloo on two ranks, and all fields of the report."""
    with tempfile.TemporaryDirectory() as root:
        make_images(root)
        results = {}
        for backend, launcher in (("smddp", smddprun(2)), ("gloo", torchrun(2))):
            arguments = ["--backend", backend, "--data", root, "--steps", "3", "--workers", "1", *SMALL]
            results[backend] = result = result_of(run(launcher, "train_efficientnet.py", *arguments))
            missing = [field for field in FIELDS if not isinstance(result.get(field), (int, float))]
            assert not missing, f"{missing} of {result}"
            assert result["backend"] == backend and result["ranks"] == 2 and result["steps"] == 3, result
        for field in ("loss_last_20", "test_accuracy"):
            assert results["smddp"][field] == results["gloo"][field], (field, results)


def test_failing_requirements():
    with tempfile.TemporaryDirectory() as root:
        make_images(root)
        arguments = ["--backend", "smddp", "--data", root, "--steps", "1", "--batch", "4", "--measure-blocks", "0", "--require-loss", "0.001"]
        text = run(torchrun(1), "train_efficientnet.py", *arguments, code=1)
        assert "FAILED: the mean loss of the last 20 steps" in text, text


def test_few_images():
    """Row 80: too few images are a clear error on all ranks, not a hang."""
    with tempfile.TemporaryDirectory() as root:
        os.makedirs(os.path.join(root, "one"))
        Image.new("RGB", (8, 8)).save(os.path.join(root, "one", "a.jpg"))
        Image.new("RGB", (8, 8)).save(os.path.join(root, "one", "b.jpg"))
        text = run(smddprun(2), "train_efficientnet.py", "--data", root, "--steps", "1", "--batch", "4", code=1)
        assert "too few" in text, text


def test_compare():
    text = run(smddprun(2), "compare_backends.py", "--blocks", "2", "--steps", "1", "--batch", "4")
    result = result_of(text)
    assert result["blocks"] == 2 and result["images_per_second_ratio"] > 0, result
    for name in ("smddp", "gloo"):
        assert result[name]["images_per_second"]["min"] <= result[name]["images_per_second"]["median"], result
        assert result["all_reduce_4_bytes"][name] > 0 and result["all_reduce_16777216_bytes"][name] > 0, result


if __name__ == "__main__":
    main([test_backends, test_failing_requirements, test_few_images, test_compare])
