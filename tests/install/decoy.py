"""An older libsmddp.so of the same name that stands first in LD_LIBRARY_PATH is not taken by our programs, nor by one with a run path."""
from installed import STAGE, check_program, clean_environment, compile_with_pkg_config, finish, run

decoy = STAGE.parent / "decoy"
decoy.mkdir(exist_ok=True)
soname = next(path.name for path in (STAGE / "lib").glob("libsmddp.so.*") if path.is_symlink())
source = decoy / "decoy.c"
source.write_text('#include <stdlib.h>\nvoid smddp_version(int *a, int *b, int *c) { *a = *b = *c = 0; }\n'
                  '__attribute__((constructor)) static void loaded(void) { _Exit(99); }\n')
status, output = run("cc", "-shared", "-fPIC", source, f"-Wl,-soname,{soname}", "-o", decoy / soname)
problems = [output] if status else []

environment = {"LD_LIBRARY_PATH": str(decoy)}
program = STAGE.parent / "decoy_consumer"
problems += compile_with_pkg_config(STAGE, program) or check_program(STAGE, program, STAGE / "lib", **environment)
for tool, argument in (("smddp-info", "--version"), ("smddprun", "--version"), ("smddp-bench", "--version"), ("smddp-server", "--version")):
    status, output = run(STAGE / "bin" / tool, argument, env=clean_environment(**environment))
    if status:
        problems.append(f"{tool} {argument} with a decoy ends with {status}: {output}")
# The decoy must be able to do harm, or this test shows nothing.
victim = STAGE.parent / "decoy_victim"
problems += compile_with_pkg_config(STAGE, victim, find=False)
status, _ = run(victim, env=clean_environment(**environment))
if status != 99:
    problems.append(f"the decoy did not end a program without a run path (status {status})")
finish(problems, "programs keep to their own library")
