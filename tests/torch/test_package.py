"""The package: what its import does and refuses, in which order libraries may be loaded, and which copy of libsmddp it uses."""

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile

import smdistributed.dataparallel.torch.torch_smddp as torch_smddp
from jobs import main, raises
from smdistributed.dataparallel.torch.torch_smddp import _environment, _torch_range

FOLDER = os.path.dirname(torch_smddp.__file__)


def python(code, **variables):
    """Runs code in a fresh interpreter; returns exit code and output."""
    done = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120
    )
    return done.returncode, done.stdout


def test_version_range():
    for version in ("2.13.0", "2.13.1+cpu", "2.13.0a0+git"):
        assert _torch_range.fits(version), version
    for version in ("2.12.1", "2.14.0", "3.13.0", "1.13.1", "unknown"):
        assert not _torch_range.fits(version), version
        with raises(ImportError, version, ">= 2.13, < 2.14", "/somewhere"):
            _torch_range.check(version, "/somewhere")
    code, text = python(
        "import torch; torch.__version__ = '2.14.0'\n"
        "import smdistributed.dataparallel.torch.torch_smddp"
    )
    assert code == 1 and "ImportError" in text and "2.14.0" in text, text


def test_environment():
    cases = (
        ({"RANK": "3", "WORLD_SIZE": "4", "LOCAL_RANK": "1"}, ("3", "4", "1")),
        ({"OMPI_COMM_WORLD_RANK": "2", "OMPI_COMM_WORLD_SIZE": "8", "OMPI_COMM_WORLD_LOCAL_RANK": "0"}, ("2", "8", "0")),
        ({"RANK": "1", "OMPI_COMM_WORLD_RANK": "5"}, ("1", None, None)),
        ({"RANK": "two"}, (None, None, None)),
        ({"RANK": "1", "SMDATAPARALLEL_WORLD_RANK": "9"}, ("9", None, None)),
        ({}, (None, None, None)),
    )
    names = [f"SMDATAPARALLEL_{name}" for name in ("WORLD_RANK", "WORLD_SIZE", "LOCAL_RANK")]
    for given, wanted in cases:
        environ = dict(given)
        _environment.export_place(environ)
        assert tuple(environ.get(name) for name in names) == wanted, (given, environ)


def test_import_orders():
    """Row 70: either order, and other packages before, as far as they are there."""
    module = "smdistributed.dataparallel.torch.torch_smddp"
    others = [f"import {name}\n" for name in ("numpy", "mpi4py.MPI", "PIL.Image", "timm") if importlib.util.find_spec(name.split(".")[0])]
    for first in ("", "import torch\n", "import torch.distributed\n", "import smdistributed.dataparallel\n", *others, "".join(others)):
        code, text = python(
            f"{first}import {module}\nimport torch, torch.distributed as dist\n"
            "assert dist.Backend.SMDDP == 'smddp' and dist.is_backend_available('smddp')\n"
            "assert dist.Backend.default_device_backend_map['cpu'] == 'gloo'"
        )
        assert code == 0 and not text.strip(), f"{first!r}: {text}"


def mapped_library(text):
    return {line for line in text.splitlines() if "libsmddp.so" in line}


def test_our_library_is_used():
    """Row 70: another libsmddp earlier on LD_LIBRARY_PATH does not take the place of ours."""
    print_maps = (
        "import smdistributed.dataparallel.torch.torch_smddp as plugin; plugin.library_version()\n"
        "print('\\n'.join({line.split()[-1] for line in open('/proc/self/maps') if 'libsmddp.so' in line}))"
    )
    code, text = python(print_maps)
    ours = mapped_library(text)
    assert code == 0 and len(ours) == 1, text
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(next(iter(ours)), os.path.join(folder, "libsmddp.so.0"))
        code, text = python(print_maps, LD_LIBRARY_PATH=folder)
        assert code == 0 and mapped_library(text) == ours, text
        # An old one that lacks what the module needs, and ends whoever loads it.
        source, decoy = os.path.join(folder, "decoy.c"), os.path.join(folder, "libsmddp.so.0")
        with open(source, "w") as file:
            file.write("#include <stdlib.h>\n__attribute__((constructor)) static void loaded(void) { _Exit(99); }\n")
        subprocess.run(["cc", "-shared", "-fPIC", source, "-Wl,-soname,libsmddp.so.0", "-o", decoy], check=True)
        code, text = python(print_maps, LD_LIBRARY_PATH=folder)
        assert code == 0 and mapped_library(text) == ours, (code, text)
        assert python("import ctypes; ctypes.CDLL('libsmddp.so.0')", LD_LIBRARY_PATH=folder)[0] == 99, "the decoy does no harm"


def test_links():
    """The module loads beside CPU-only and CUDA builds of torch, and shows nothing but its entry point."""
    module = next(os.path.join(FOLDER, name) for name in os.listdir(FOLDER) if name.endswith(".so"))
    needed = subprocess.run(["readelf", "-d", module], stdout=subprocess.PIPE, text=True, check=True).stdout
    assert "cuda" not in needed, needed
    for library in ("libtorch_cpu.so", "libc10.so", "libsmddp.so.0"):
        assert f"[{library}]" in needed, f"{library} not in {needed}"
    symbols = subprocess.run(["nm", "-D", "--defined-only", module], stdout=subprocess.PIPE, text=True, check=True).stdout
    strong = [line.split()[-1] for line in symbols.splitlines() if line.split()[-2] in "TDB"]
    assert strong == ["PyInit__smddp_torch"], strong


if __name__ == "__main__":
    main([test_version_range, test_environment, test_import_orders, test_our_library_is_used, test_links])
