"""A C library without glibc's extensions (row 74): configure finds them missing, everything builds, the core tests pass. Builds all anew."""
import pathlib
import shutil
import sys

from installed import BUILD, SOURCE, finish, run

SHIM = pathlib.Path(__file__).resolve().parent / "other_libc"
tree = BUILD / "other_libc"
shutil.rmtree(tree, ignore_errors=True)
flags = f"-include {SHIM}/hidden.h -isystem {SHIM}"


def step(*command, seconds):
    status, output = run(*command, timeout=seconds)
    if status:
        finish([output[-20000:]], "")
    return output


step("cmake", "-S", SOURCE, "-B", tree, "-G", "Ninja", "-DSMDDP_TORCH=OFF", "-DCMAKE_BUILD_TYPE=Release", f"-DPython3_EXECUTABLE={sys.executable}",
     f"-DCMAKE_C_FLAGS={flags}", f"-DCMAKE_CXX_FLAGS={flags}", seconds=300)
problems = []
if "SMDDP_HAS_RTLD_NEXT:INTERNAL=1" in (tree / "CMakeCache.txt").read_text():
    problems.append("configure finds RTLD_NEXT, which is hidden")
step("cmake", "--build", tree, "--parallel", "2", seconds=3000)
summary = step("ctest", "--test-dir", tree, "-L", "core", "-LE", "contract|install|soak", "--output-on-failure", seconds=1800)
shutil.rmtree(tree, ignore_errors=True)
finish(problems, summary[-600:])
