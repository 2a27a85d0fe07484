"""An installation into DESTDIR that is then moved works where it lies: programs, pkg-config and find_package."""
import shutil

from installed import BUILD, CONSUMER, STAGE, check_program, clean_environment, compile_with_pkg_config, finish, run

destdir, moved = STAGE.parent / "dest dir", STAGE.parent / "moved tree"
for path in (destdir, moved):
    shutil.rmtree(path, ignore_errors=True)
status, output = run("cmake", "--install", BUILD, "--prefix", "/usr/local/odd", env=clean_environment(DESTDIR=str(destdir)))
if status:
    finish([output], "")
(destdir / "usr" / "local" / "odd").rename(moved)

problems = []
status, output = run(moved / "bin" / "smddp-info", env=clean_environment())
if status:
    problems.append(f"smddp-info of the moved tree ends with {status}: {output}")
program = STAGE.parent / "moved_shared"
problems += compile_with_pkg_config(moved, program) or check_program(moved, program, moved / "lib")
build = STAGE.parent / "moved consumer"
shutil.rmtree(build, ignore_errors=True)
status, output = run("cmake", "-S", CONSUMER, "-B", build, "-G", "Ninja", f"-Dsmddp_DIR={moved}/lib/cmake/smddp", env=clean_environment())
if status == 0:
    status, output = run("cmake", "--build", build, env=clean_environment())
problems += [output] if status else check_program(moved, build / "consumer_shared", moved / "lib")
finish(problems, "programs, pkg-config and find_package of a moved tree")
