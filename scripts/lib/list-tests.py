#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Lists the tests of a configured build folder, one a line, in the order in which Meson runs them.

    list-tests.py suites BUILD               the names of the suites
    list-tests.py all BUILD [SUITE...]       the tests, of all or of some suites
    list-tests.py busy BUILD [SUITE...]      the tests that compute most of their time (suite `busy`)
    list-tests.py waiting BUILD [SUITE...]   the others

    --without SUITE   none of that suite (may be repeated)
"""

import argparse
import json
import subprocess
from pathlib import Path

WHAT = ("suites", "all", "busy", "waiting")


def tests_of(build):
    """(name, its suites) of each test."""
    listing = subprocess.run(["meson", "introspect", "--tests", str(build)], check=True,
                             stdout=subprocess.PIPE, text=True).stdout
    return [(test["name"], [suite.split(":")[-1] for suite in test["suite"]]) for test in json.loads(listing)]


def listed(what, tests, suites, without):
    """The lines to print."""
    if what == "suites":
        return list(dict.fromkeys(suite for _, its in tests for suite in its))
    kinds = {"all": (True, False), "busy": (True,), "waiting": (False,)}[what]
    return [name for name, its in tests
            if (not suites or set(suites) & set(its)) and not set(without) & set(its) and
            ("busy" in its) in kinds]


def main():
    """Prints the list."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=WHAT)
    parser.add_argument("build", type=Path)
    parser.add_argument("suites", nargs="*", metavar="SUITE")
    parser.add_argument("--without", metavar="SUITE", action="append", default=[])
    wanted = parser.parse_args()
    for line in listed(wanted.what, tests_of(wanted.build), wanted.suites, wanted.without):
        print(line)


if __name__ == "__main__":
    main()
