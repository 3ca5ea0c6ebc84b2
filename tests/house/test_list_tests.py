# SPDX-License-Identifier: MIT
"""Every file of tests belongs to a test of Meson, and scripts/test runs each of them once."""

import json
import os
import subprocess
from pathlib import Path

import pytest
from scripts import load

from harness import BUILD_ROOT, SOURCE_ROOT

pytestmark = pytest.mark.no_library

TESTS = [("turn", ["unit"]), ("fuzz_calls", ["fuzz", "busy"]), ("house", ["house", "busy"]),
         ("cli_top", ["cli"])]


@pytest.mark.parametrize("what, suites, names", [
    ("suites", [], ["unit", "fuzz", "busy", "house", "cli"]),
    ("all", [], ["turn", "fuzz_calls", "house", "cli_top"]),
    ("busy", [], ["fuzz_calls", "house"]),
    ("waiting", [], ["turn", "cli_top"]),
    ("busy", ["house", "cli"], ["house"]),
    ("waiting", ["house", "cli"], ["cli_top"]),
    ("waiting", ["fuzz"], []),
])
def test_what_is_listed(what, suites, names):
    assert load("list-tests").listed(what, TESTS, suites, []) == names


def test_what_is_listed_without_some_suites():
    assert load("list-tests").listed("all", TESTS, [], ["busy", "unit"]) == ["cli_top"]


def not_run(files, words):
    """The files of which neither themselves nor their folder is a word of a test's command."""
    known = {os.path.normpath(word) for word in words}
    return [path for path in files if not {str(path), str(path.parent)} & known]


def test_each_file_is_run():
    listing = subprocess.run(["meson", "introspect", "--tests", BUILD_ROOT], check=True, capture_output=True,
                             text=True).stdout
    words = [word for test in json.loads(listing) for word in test["cmd"]]
    assert not_run((SOURCE_ROOT / "tests").glob("*/test_*.py"), words) == []


def test_a_file_that_is_not_run_is_found():
    words = ["python3", "/tests/house/.", "/tests/preload/../harness/test_sanity.py"]
    files = [Path("/tests/house/test_a.py"), Path("/tests/harness/test_sanity.py"),
             Path("/tests/cli/test_b.py")]
    assert not_run(files, words) == files[2:]
