"""What CMake needs of an interpreter and its torch, as a CMake list: version, folder, Python's headers, suffix of modules, range,
fits, packages as seen from programs. Empty if there is no torch. Does not import torch, which takes seconds."""

import importlib.util
import os
import sys
import sysconfig

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "python/smdistributed/dataparallel/torch/torch_smddp"))
import _torch_range  # noqa: E402

spec = importlib.util.find_spec("torch")
if spec is None or spec.origin is None:
    sys.exit(0)
folder = os.path.dirname(spec.origin)
names = {}
with open(os.path.join(folder, "version.py"), encoding="utf-8") as file:
    for line in file:
        if line.startswith("__version__"):
            names["version"] = line.split("=")[1].strip().strip("'\"")
version = names.get("version", "unknown")
print(
    ";".join(
        (
            version,
            folder,
            sysconfig.get_paths()["include"],
            sysconfig.get_config_var("EXT_SUFFIX"),
            _torch_range.text(),
            "1" if _torch_range.fits(version) else "0",
            os.path.relpath(sysconfig.get_path("purelib"), sysconfig.get_path("scripts")),
        )
    ),
    end="",
)
