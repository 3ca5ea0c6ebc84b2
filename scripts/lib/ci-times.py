#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The page docs/results/ci.md, from what the last run of .ci/run has left behind: where its time went.

    ci-times.py TIMES

TIMES has a line "NAME SECONDS" for each step of .ci/run, and build/reports/times for those before the tests.
The seconds of a suite are the sum of those of its tests, of which several run at once.
"""

import contextlib
import datetime
import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

HEAD = """<!-- .ci/run has made this file. -->

# Where the time of .ci/run goes

`.ci/run` writes this page as ci.md into build/ (`scripts/lib/ci-times.py`). Steps follow each other, but for
clang-tidy, which runs beside the architectures, and the build with clang, beside the tests. The seconds of a
suite are the sum of its tests', of which several run at once.

"""


def sibling(name):
    """Another script of this folder as a module."""
    spec = importlib.util.spec_from_file_location(name.replace("-", "_"), ROOT / f"scripts/lib/{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def timed(path):
    """(name, seconds) of each line of a file; none if it is not there."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [(name, float(seconds)) for name, _, seconds in (line.rpartition(" ") for line in lines)]


def suites_of(build):
    """{suite: [cases, seconds]} of a build folder's logs."""
    count = sibling("count-cases")
    suites = {}
    for path in sorted((build / "meson-logs").glob("testlog*.json")):
        for test in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
            name = re.sub(r"^\w+:|\+(busy|unstarved)", "", test["name"].split(" / ")[0])
            sums = suites.setdefault(name, [0, 0])
            with contextlib.redirect_stdout(None):  # it names those that were repeated
                sums[0] += len(count.cases_of_program(test["name"], test["result"], test["command"]))
            sums[1] += test["duration"]
    return suites


def table(rows):
    """Rows of a table, the slowest first."""
    return [f"| {name} | {cases or ''} | {seconds:.0f} |\n"
            for name, cases, seconds in sorted(rows, key=lambda row: -row[2])]


def page(times):
    """The page."""
    commit = subprocess.run(["git", "-C", ROOT, "log", "-1", "--format=%h"], check=False, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout.strip()
    steps = [(name, 0, seconds) for name, seconds in timed(times)]
    before = [(name, 0, seconds) for name, seconds in timed(ROOT / "build/reports/times")]
    suites = [(name if build.name == "build" else f"{name} ({build.name.removeprefix('build-')})", *sums)
              for build in sorted(ROOT.glob("build*")) for name, sums in suites_of(build).items()]
    return "".join([
        HEAD, f"Run on {datetime.date.today()}, commit {commit or 'unknown'}, {os.cpu_count()} cores.\n\n",
        "| step | | seconds |\n|---|---|---|\n", *table(steps),
        "\n| of `scripts/test` | | seconds |\n|---|---|---|\n", *table(before),
        "\n| suite | cases | seconds |\n|---|---|---|\n", *table(suites)])


if __name__ == "__main__":
    print(page(Path(sys.argv[1])), end="")
