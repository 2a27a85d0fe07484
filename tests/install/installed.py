"""What the tests of an installation share: the staged prefix, a pkg-config consumer, running a program on one and two ranks."""
import os
import pathlib
import re
import shlex
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "contract"))
from project import BUILD, SOURCE, finish, run  # noqa: E402,F401

# The space is meant: quoting mistakes show here.
STAGE = BUILD / "install test" / "pre fix"
CONSUMER = HERE / "consumer"


def clean_environment(**more):
    """This environment without what would help a program to find another copy of the library."""
    hidden = ("LD_LIBRARY_PATH", "PKG_CONFIG_PATH", "CMAKE_PREFIX_PATH", "DESTDIR")
    return {name: value for name, value in os.environ.items() if name not in hidden} | more


def pkg_config(prefix, *arguments):
    pages = ":".join(str(path.parent) for path in prefix.rglob("smddp.pc"))
    return run("pkg-config", *arguments, "smddp", env=clean_environment(PKG_CONFIG_PATH=pages))


def compile_with_pkg_config(prefix, program, *arguments, find=True):
    """Compiles the consumer as a shell would do it with pkg-config's answer; find: with a run path. Gives the problems."""
    status, flags = pkg_config(prefix, "--cflags", "--libs", *arguments)
    if status:
        return [f"pkg-config {' '.join(arguments)}: {flags}"]
    run_path = ["-Wl,--disable-new-dtags", f"-Wl,-rpath,{next(prefix.rglob('smddp.pc')).parent.parent}"] if find else []
    status, output = run("cc", CONSUMER / "consumer.c", *shlex.split(flags), *run_path, "-o", program)
    return [f"cc with {flags.strip()}: {output}"] if status else []


def check_program(prefix, program, library, **environment):
    """Runs the consumer on one and on two ranks; library: the place it must have the library from, or "inside"."""
    problems = []
    for ranks in (1, 2):
        launcher = [prefix / "bin" / "smddprun", "-n", ranks] if ranks > 1 else []
        status, output = run(*launcher, program, env=clean_environment(**environment), timeout=60)
        places = set(re.findall(r"library (.*)", output))
        if status or output.count(f"size {ranks} sum {ranks}") != ranks:
            problems.append(f"{program} on {ranks} ranks ends with {status}: {output}")
        elif {str(pathlib.Path(place).parent) if place != "inside" else place for place in places} != {str(library)}:
            problems.append(f"{program} uses {places}, not {library}")
    return problems
