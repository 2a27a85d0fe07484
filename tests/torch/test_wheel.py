"""`pip wheel --no-build-isolation .` gives a wheel that works where nothing else of ours is installed."""

import os
import subprocess
import sys
import tempfile
import zipfile

SOURCE = os.environ.get("SMDDP_SOURCE_DIR", os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))

TRIAL = """
import os, torch, torch.distributed as dist
import smdistributed.dataparallel.torch.torch_smddp as torch_smddp
assert torch_smddp.__file__.startswith(os.environ["WHEEL"]), torch_smddp.__file__
dist.init_process_group("smddp", rank=0, world_size=1, store=dist.HashStore())
tensor = torch.ones(3)
dist.all_reduce(tensor)
assert tensor.tolist() == [1, 1, 1]
maps = open("/proc/self/maps").read()
assert os.environ["WHEEL"] + "/smdistributed/dataparallel/lib/libsmddp.so.0" in maps, maps
dist.destroy_process_group()
"""


def main():
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", folder, SOURCE]
        subprocess.run(command, check=True, timeout=850)
        wheels = [name for name in os.listdir(folder) if name.endswith(".whl")]
        assert len(wheels) == 1, wheels
        with zipfile.ZipFile(os.path.join(folder, wheels[0])) as wheel:
            names = wheel.namelist()
            wheel.extractall(os.path.join(folder, "site"))
        package = "smdistributed/dataparallel"
        for wanted in (f"{package}/lib/libsmddp.so.0", f"{package}/torch/torch_smddp/__init__.py", f"{package}/__init__.py"):
            assert wanted in names, f"{wanted} not in {names}"
        assert "smdistributed/__init__.py" not in names, "smdistributed is a namespace package"
        assert any(name.endswith("/scripts/smddprun") for name in names), names
        site = os.path.join(folder, "site")
        environment = {name: value for name, value in os.environ.items() if name != "LD_LIBRARY_PATH"}
        subprocess.run([sys.executable, "-c", TRIAL], env=environment | {"PYTHONPATH": site, "WHEEL": site}, check=True, timeout=120)
    print("all passed")


if __name__ == "__main__":
    main()
