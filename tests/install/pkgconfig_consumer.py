"""pkg-config's answer is enough to link: shared, and static where only the archive is installed. Plain --libs names our library alone."""
import shlex
import shutil

from installed import STAGE, check_program, compile_with_pkg_config, finish, pkg_config

problems = []
_, libs = pkg_config(STAGE, "--libs")
if shlex.split(libs) != [f"-L{STAGE}/lib", "-lsmddp"] and shlex.split(libs) != [f"-L{STAGE}/lib/pkgconfig/../../lib", "-lsmddp"]:
    problems.append(f"pkg-config --libs gives {libs}")
shared = STAGE.parent / "pkgconfig_shared"
problems += compile_with_pkg_config(STAGE, shared) or check_program(STAGE, shared, STAGE / "lib")

archives = STAGE.parent / "archives only"
shutil.rmtree(archives, ignore_errors=True)
shutil.copytree(STAGE, archives, symlinks=True)
for library in (archives / "lib").glob("libsmddp.so*"):
    library.unlink()
static = STAGE.parent / "pkgconfig_static"
problems += compile_with_pkg_config(archives, static, "--static") or check_program(STAGE, static, "inside")
finish(problems, "shared and archive-only consumers, 1 and 2 ranks")
