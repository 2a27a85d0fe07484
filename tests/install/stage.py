"""Installs the build into the staged prefix, anew; the other tests of this folder use it."""
import shutil

from installed import BUILD, STAGE, clean_environment, finish, run

shutil.rmtree(STAGE.parent, ignore_errors=True)
status, output = run("cmake", "--install", BUILD, "--prefix", STAGE, env=clean_environment())
problems = [output] if status else []
top = sorted(path.name for path in STAGE.iterdir()) if STAGE.exists() else []
if top != ["bin", "include", "lib", "share"]:
    problems.append(f"the prefix holds {top}, not bin, include, lib and share")
for name in ("lib/libsmddp.a", "include/smddp/smddp.h", "include/smddp/version.h", "lib/pkgconfig/smddp.pc",
             "lib/cmake/smddp/smddpConfig.cmake", "bin/smddprun", "bin/smddp-info", "bin/smddp-bench", "bin/smddp-server", "share/man/man7/smddp.7"):
    if not (STAGE / name).exists():
        problems.append(f"{name} is not installed")
for page in ("allreduce.3", "allreduce_async.3", "init.3"):
    if not (STAGE / "share" / "man" / "man3" / f"smddp_{page}").exists():
        problems.append(f"man page smddp_{page} is not installed")
finish(problems, f"{sum(path.is_file() for path in STAGE.rglob('*'))} files")
