"""A C project that knows only find_package(smddp) builds with the shared and the static library and runs."""
import shutil

from installed import CONSUMER, STAGE, check_program, clean_environment, finish, run

build = STAGE.parent / "cmake consumer"
shutil.rmtree(build, ignore_errors=True)
for command in (["cmake", "-S", CONSUMER, "-B", build, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={STAGE}"], ["cmake", "--build", build]):
    status, output = run(*command, env=clean_environment())
    if status:
        finish([output], "")
problems = check_program(STAGE, build / "consumer_shared", STAGE / "lib")
problems += check_program(STAGE, build / "consumer_static", "inside")
finish(problems, "shared and static consumers, 1 and 2 ranks")
