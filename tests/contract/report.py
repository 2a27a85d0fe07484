"""The report of ./dev test counts as passed only what ran and passed, and is strict about skips where CI=true."""
import os
import pathlib
import tempfile

from project import SOURCE, finish, run

CASES = {
    "good": '<testcase name="good" status="run"><system-out>fine</system-out></testcase>',
    "bad": '<testcase name="bad" status="fail"><failure message=""/></testcase>',
    "lost": '<testcase name="lost" status="notrun"><skipped message="Unable to find executable"/></testcase>',
    "off": '<testcase name="off" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/><system-out>x\nSKIP: no device\n</system-out></testcase>',
}
# names of the cases, names that may be skipped, CI, expected exit status, expected last line
TABLE = [
    (["good"], "", "true", 0, "1 passed, 0 failed, 0 skipped"),
    (["good", "bad"], "", "", 1, "1 passed, 1 failed, 0 skipped"),
    (["good", "lost"], "lost", "", 1, "1 passed, 1 failed, 0 skipped"),
    (["good", "off"], "", "", 0, "1 passed, 0 failed, 1 skipped"),
    (["good", "off"], "", "true", 1, "1 passed, 0 failed, 1 skipped"),
    (["good", "off"], "off  # no device in CI", "true", 0, "1 passed, 0 failed, 1 skipped"),
    ([], "", "", 1, "0 passed, 0 failed, 0 skipped"),
    (None, "", "", 1, "0 passed, 0 failed, 0 skipped"),
]

problems = []
with tempfile.TemporaryDirectory() as folder:
    report, allowed = pathlib.Path(folder, "tests.xml"), pathlib.Path(folder, "allowed.txt")
    for names, skips, ci, expected, last in TABLE:
        report.unlink(missing_ok=True)
        if names is not None:
            report.write_text("<testsuite>" + "".join(CASES[name] for name in names) + "</testsuite>")
        allowed.write_text("# may be skipped\n" + skips + "\n")
        status, output = run("python3", SOURCE / "scripts" / "report_tests.py", report, allowed, env=os.environ | {"CI": ci})
        if status != expected or output.splitlines()[-1] != last:
            problems.append(f"cases {names}, allowed '{skips}', CI '{ci}': status {status}, expected {expected}: {output}")
        if names and "off" in names and "skipped: off: no device" not in output:
            problems.append(f"the reason of a skip is not shown: {output}")
finish(problems, f"{len(TABLE)} reports")
