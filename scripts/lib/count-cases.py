#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Counts the cases of the last run of scripts/test or scripts/arch: of all logs of Meson in build folders.

    count-cases.py [--outcome failed] [--case NAME:passed] [--skipped-is-failed] BUILD...

Meson knows programs, we count the cases inside: each test that writes JUnit XML (pytest's
--junitxml=FILE, Criterion's --xml=FILE) names the file in its command line.  A program that failed
although its report shows no failed case (it crashed, ran out of time, or wrote none) counts as one
failed case more; a program without a report is one case.  Cases that were repeated because the host
took the processors (tests/conftest.py) are named, cases left out at the end of the time are counted for each
file. The failures come last, each with the first lines of its message: where a log is cut, its
end is kept.  The last line is the sum; the exit code is 0 only if nothing failed and something passed.
"""

import argparse
import json
import sys
import xml.etree.ElementTree as xml
from pathlib import Path

REPORT_OPTIONS = ("--junitxml=", "--junit-xml=", "--xml=")
WHY_LINES = 8
OUTCOMES = {"OK": "passed", "EXPECTEDFAIL": "passed", "SKIP": "skipped"}


def report_of(command):
    """The JUnit file that a test's command line names, or None."""
    for word in command:
        for option in REPORT_OPTIONS:
            if word.startswith(option):
                return Path(word[len(option):])
    return None


def why_of_case(case):
    """The first lines of a failed case's message."""
    for what in (*case.findall("failure"), *case.findall("error")):
        return (what.get("message") or "").splitlines()[:WHY_LINES]
    return []


def outcome_of_case(case):
    """passed, failed, skipped or left out, for one <testcase> of pytest or Criterion."""
    status = case.get("status", "PASSED")
    if case.find("failure") is not None or case.find("error") is not None or \
            status in ("FAILED", "ERRORED"):
        return "failed"
    skipped = case.find("skipped")
    if skipped is not None and skipped.get("message") == "left out":
        return "left out"
    if skipped is not None or status == "SKIPPED":
        return "skipped"
    return "passed"


def cases_of_report(path):
    """[(name, outcome, why)] of one JUnit file; prints which were repeated; raises OSError or ParseError."""
    cases = []
    for suite in xml.parse(path).getroot().iter("testsuite"):
        for case in suite.findall("testcase"):
            name = f"{case.get('classname') or suite.get('name')}::{case.get('name')}"
            cases.append((name, outcome_of_case(case), why_of_case(case)))
            shares = [one.get("value") for one in case.iterfind("properties/property[@name='repeated']")]
            if shares:
                print(f"repeated: {name}: the host took {', '.join(shares)} of the time")
    return cases


def cases_of_program(name, result, command):
    """[(name, outcome, why)] of one program that Meson ran."""
    own = OUTCOMES.get(result, "failed")
    report = report_of(command)
    if report is None or (own == "skipped" and not report.exists()):
        return [(name, own, [])]
    try:
        cases = cases_of_report(report)
    except (OSError, xml.ParseError) as error:
        return [(f"{name}: no report: {error}", "failed", [])]
    if own == "failed" and all(outcome != "failed" for _, outcome, _ in cases):
        cases.append((f"{name}: ended with {result}", "failed", []))
    return cases


def programs_of_logs(folder):
    """(name, result, command) of every program in Meson's logs."""
    for path in sorted(folder.glob("testlog*.json")):
        for line in path.read_text(encoding="utf-8").splitlines():
            test = json.loads(line)
            yield test["name"], test["result"], test["command"]


def summary(count):
    """N passed, N failed[, N skipped]"""
    line = f"{count['passed']} passed, {count['failed']} failed"
    return line + (f", {count['skipped']} skipped" if count["skipped"] else "")


def main():
    """Prints the failures and skips, then the sum; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--outcome", choices=("passed", "failed"), default="passed")
    parser.add_argument("--case", action="append", default=[])
    parser.add_argument("--skipped-is-failed", action="store_true")
    parser.add_argument("build", type=Path, nargs="*")
    wanted = parser.parse_args()
    cases = [(*case.rsplit(":", 1), []) for case in wanted.case]
    for build in wanted.build:
        where = "" if len(wanted.build) == 1 else f"{build.name}: "
        for name, result, command in programs_of_logs(build / "meson-logs"):
            cases += [(where + case, outcome, why)
                      for case, outcome, why in cases_of_program(name, result, command)]
    if wanted.skipped_is_failed:
        cases = [(name, "failed", ["skipped"]) if outcome == "skipped" else (name, outcome, why)
                 for name, outcome, why in cases]
    if wanted.outcome == "failed" and all(outcome != "failed" for _, outcome, _ in cases):
        cases.append(("meson test", "failed", []))

    count = {"passed": 0, "failed": 0, "skipped": 0, "left out": 0}
    left_out = {}
    for name, outcome, _ in cases:
        count[outcome] += 1
        if outcome == "left out":
            program = name.partition("::")[0]
            left_out[program] = left_out.get(program, 0) + 1
    if left_out:
        print(f"left out for want of time: {count['left out']} cases: " +
              ", ".join(f"{number} of {program}" for program, number in left_out.items()))
    for outcome in ("skipped", "failed"):
        for name, _, why in (case for case in cases if case[1] == outcome):
            print(f"{outcome}: {name}", *why, sep="\n    ")
    print(summary(count))
    return 0 if count["passed"] and not count["failed"] else 1


if __name__ == "__main__":
    sys.exit(main())
