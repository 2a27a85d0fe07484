"""The contestants of the comparison: how each is installed, built and started. Each prints JSON lines {bytes, kind, ranks, median_us,
min_us} on rank 0. Nothing is installed outside the cache folder."""
import dataclasses
import os
import pathlib
import re
import subprocess
from typing import Callable

from install import PACKAGES, Unavailable, install, run_checked

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
FLOOR_SOURCES = [str(HERE.parent / "floor" / name) for name in ("main.c", "exchange.c", "pipelined.c")]


@dataclasses.dataclass
class Machine:
    """What all contestants share in one run."""
    cache: pathlib.Path
    build: pathlib.Path | None  # a build tree or prefix of SMDDP
    cpus: list[int]
    limit_s: int
    realtime: bool
    hosts: list[int] = ()  # processes in whose network namespaces the ranks run, one each; empty: all here

    def host_list(self):
        return ",".join(map(str, self.hosts)) or "-"

    def oversubscribed(self, ranks):
        return ranks > len(self.cpus)


@dataclasses.dataclass
class Contestant:
    name: str
    label: str
    role: str  # "floor", "peer" or "smddp"
    settings: str  # stated below the table
    prepare: Callable[[Machine], str]  # installs and builds; returns the version
    # (machine, ranks, collective, sizes) to the command of one turn and what it adds to the environment.
    command: Callable[[Machine, int, str, list[int]], tuple[list[str], dict[str, str]]]
    collectives: tuple[str, ...] = ()  # empty: all
    version: str = ""


def installed_version(folder, package):
    names = [p.name for p in folder.glob(f"lib/python*/site-packages/{package}-*.dist-info")]
    return re.sub(rf"{package}-(.*)\.dist-info", r"\1", names[0]) if names else "?"


def newer(target, sources):
    return target.exists() and all(target.stat().st_mtime > os.path.getmtime(s) for s in sources)


def compile_c(target, sources, *flags):
    headers = [HERE / "calls.h", *HERE.parent.glob("*.h"), *HERE.parent.glob("floor/*.h")]
    if not newer(target, [*sources, *headers]):
        run_checked(["gcc", "-std=gnu11", "-D_GNU_SOURCE", "-O3", "-march=native", *sources, "-o", str(target), *flags],
                    f"gcc {target.name}")


def compile_bench(target, calls, includes, folder, library):
    compile_c(target, [str(HERE / "bench.c"), str(HERE / calls)], *[f"-I{i}" for i in includes], f"-L{folder}",
              f"-Wl,-rpath,{folder}", f"-l{library}")


# ---- The floor ----

def prepare_floor(machine):
    compile_c(machine.cache / "floor_bench", FLOOR_SOURCES)
    return ""


def floor_command(machine, ranks, collective, sizes):
    return [str(machine.cache / "floor_bench"), "-n", str(ranks), ",".join(map(str, sizes))], {}


# ---- MPI libraries: the wheel's own mpi.h and libmpi, without its compiler wrapper ----

def prepare_mpi(name, package):
    def prepare(machine):
        folder = install(machine.cache, name, PACKAGES[name])
        compile_bench(machine.cache / f"bench_{name}", "mpi_calls.c", [f"{folder}/include"], f"{folder}/lib", "mpi")
        return installed_version(folder, package)
    return prepare


def placed(machine, rank_variable):
    return [str(HERE / "place.sh"), rank_variable, ",".join(map(str, machine.cpus)), machine.host_list()]


def mpi_command(name, launcher_flags, rank_variable, environment, oversubscribed_flags=(), oversubscribed_environment=None):
    def command(machine, ranks, collective, sizes):
        folder = machine.cache / name
        env = {k: v.format(folder=folder) for k, v in environment.items()}
        flags = list(launcher_flags)
        if machine.oversubscribed(ranks):
            flags += oversubscribed_flags
            env |= oversubscribed_environment or {}
        return [str(folder / "bin" / "mpiexec"), *flags, "-n", str(ranks), *placed(machine, rank_variable),
                str(machine.cache / f"bench_{name}"), collective, ",".join(map(str, sizes))], env
    return command


OPENMPI_FLAGS = ["--allow-run-as-root", "--oversubscribe", "--bind-to", "none"]


# ---- torch's gloo ----

def torch_python():
    venv = os.environ.get("SMDDP_VENV") or str(ROOT / ".venv")
    python = pathlib.Path(venv) / "bin" / "python"
    if not python.exists():
        raise Unavailable(f"no {python}: set SMDDP_VENV to a virtual environment with torch")
    return str(python)


def prepare_gloo(machine):
    done = subprocess.run([torch_python(), "-c", "import torch; print(torch.__version__)"], capture_output=True, text=True)
    if done.returncode:
        raise Unavailable(f"{torch_python()} cannot import torch")
    return done.stdout.strip()


def gloo_command(machine, ranks, collective, sizes):
    return [torch_python(), str(HERE / "gloo_bench.py"), "-n", str(ranks), collective, ",".join(map(str, sizes))], {}


# ---- SMDDP ----

def prepare_smddp(machine):
    build = machine.build
    if not build or not (build / "bin" / "smddprun").exists():
        raise Unavailable(f"no bin/smddprun under {build}: build SMDDP and name the build tree or prefix with --build")
    folder = next((build / f for f in ("lib", "lib64") if (build / f / "libsmddp.so").exists()), build / "lib")
    includes = [f"{build}/include"] + ([] if (build / "include/smddp/smddp.h").exists() else [f"{ROOT}/include"])
    program = machine.cache / "bench_smddp"
    program.unlink(missing_ok=True)  # it may hold the path of another build
    compile_bench(program, "smddp_calls.c", includes, folder, "smddp")
    return smddp_version(build)


def smddp_version(build):
    text = (build / "include" / "smddp" / "version.h").read_text()
    found = re.search(r'VERSION_STRING\s+"([^"]+)"', text)
    return found[1] if found else "?"


def smddp_command(memory):
    def command(machine, ranks, collective, sizes):
        return [str(machine.build / "bin" / "smddprun"), "--no-prefix", "-n", str(ranks), *placed(machine, "LOCAL_RANK"),
                str(machine.cache / "bench_smddp"), collective, ",".join(map(str, sizes)), memory], {}
    return command


def all_contestants():
    return [
        Contestant("floor", "floor", "floor", "the bare loops of tests/bench/floor, private buffers: the fastest of small, one_shot and "
                   "two_copy, the latter two also with streaming stores; -O3 -march=native", prepare_floor, floor_command, ("allreduce",)),
        Contestant("mpich", "MPICH", "peer", "as installed", prepare_mpi("mpich", "mpich"),
                   mpi_command("mpich", [], "PMI_RANK", {})),
        Contestant("openmpi", "Open MPI", "peer",
                   " ".join(OPENMPI_FLAGS) + "; with more ranks than CPUs also --mca mpi_yield_when_idle 1",
                   prepare_mpi("openmpi", "openmpi"),
                   mpi_command("openmpi", OPENMPI_FLAGS, "OMPI_COMM_WORLD_LOCAL_RANK", {"OPAL_PREFIX": "{folder}"},
                               ["--mca", "mpi_yield_when_idle", "1"])),
        Contestant("impi", "Intel MPI", "peer", "I_MPI_FABRICS=shm I_MPI_PIN=0; with more ranks than CPUs also I_MPI_WAIT_MODE=1",
                   prepare_mpi("impi", "impi_rt"),
                   mpi_command("impi", [], "PMI_RANK", {"I_MPI_ROOT": "{folder}", "I_MPI_FABRICS": "shm", "I_MPI_PIN": "0"},
                               (), {"I_MPI_WAIT_MODE": "1"})),
        Contestant("impi_ofi", "Intel MPI ofi", "peer", "I_MPI_FABRICS=ofi FI_PROVIDER=shm (process_vm_readv for large messages) "
                   "I_MPI_PIN=0; with more ranks than CPUs also I_MPI_WAIT_MODE=1",
                   prepare_mpi("impi", "impi_rt"),
                   mpi_command("impi", [], "PMI_RANK", {"I_MPI_ROOT": "{folder}", "FI_PROVIDER_PATH": "{folder}/lib",
                                                        "I_MPI_FABRICS": "ofi", "FI_PROVIDER": "shm", "I_MPI_PIN": "0"},
                               (), {"I_MPI_WAIT_MODE": "1"})),
        Contestant("gloo", "gloo", "peer", "torch.distributed, one torch thread; allreduce, broadcast and reduce in place",
                   prepare_gloo, gloo_command),
        Contestant("smddp", "SMDDP", "smddp", "smddprun, private buffers", prepare_smddp, smddp_command("private")),
        Contestant("smddp_alloc", "SMDDP alloc", "smddp", "smddprun, buffers from smddp_alloc", prepare_smddp,
                   smddp_command("library")),
    ]
