# SPDX-License-Identifier: MIT
"""Puts tests/ on the path, so that every black-box test says `from harness import ...`."""

import os
import sys

import pytest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from harness import HOOK_LIB, LIB  # noqa: E402
from harness.selection import in_one_mode, part_of  # noqa: E402


def pytest_addoption(parser):
    parser.addoption("--part", metavar="I/N", default="1/1", help="only the Ith of N parts of the cases")


def pytest_collection_modifyitems(config, items):
    kept = in_one_mode(items) if os.environ.get("UNSTALL_TESTS_QUICK") == "1" else items
    kept = part_of(kept, config.getoption("--part"))
    chosen = set(kept)
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = kept


def pytest_configure(config):
    # The runner itself is never preloaded: what it measures would be its own.
    if "libunstall" in os.environ.get("LD_PRELOAD", ""):
        raise pytest.UsageError("run the tests without LD_PRELOAD: the runner is never preloaded")
    config.addinivalue_line("markers", "no_library: this test does without the built library")


def pytest_runtest_setup(item):
    if item.get_closest_marker("no_library"):
        return
    for library in (LIB, HOOK_LIB):
        if not library.exists():
            pytest.fail(f"{library} is missing: build first (ninja -C build)", pytrace=False)
