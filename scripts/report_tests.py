#!/usr/bin/env python3
"""Reads CTest's JUnit file, names each skipped test with its reason and ends with 'N passed, N failed, N skipped'.

usage: report_tests.py JUNIT.xml ALLOWED_SKIPS.txt. Exit status 1 on a failure and, with CI=true, on a skip that is not allowed.
"""
import os
import re
import sys
import xml.etree.ElementTree as ElementTree


def reason_of(case):
    output = case.findtext("system-out") or ""
    reasons = re.findall(r"^\s*SKIP: *(.+)$", output, re.MULTILINE)
    return reasons[-1].strip() if reasons else "no reason given"


def main(report, allowed_file):
    with open(allowed_file) as lines:
        allowed = [line.split("#")[0].strip() for line in lines]
    passed, failed, skipped = [], [], []
    cases = ElementTree.parse(report).getroot().iter("testcase") if os.path.exists(report) else ()
    for case in cases:
        name, status, skip = case.get("name"), case.get("status"), case.find("skipped")
        if status == "run":
            passed.append(name)
        elif skip is not None and skip.get("message", "").startswith("SKIP_"):
            skipped.append((name, reason_of(case)))
        else:  # failed, timed out, or never started
            failed.append(name)
    strict = os.environ.get("CI") == "true"
    unexpected = [name for name, _ in skipped if strict and name not in allowed]
    print()
    for name, reason in skipped:
        print(f"skipped: {name}: {reason}" + (" (not in tests/allowed_skips.txt)" if name in unexpected else ""))
    for name in failed:
        print(f"failed: {name}")
    print(f"{len(passed)} passed, {len(failed)} failed, {len(skipped)} skipped", flush=True)
    return 1 if failed or unexpected or not passed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
