# SPDX-License-Identifier: MIT
"""Puts tests/ on the path, so that every black-box test says `from harness import ...`."""

import contextlib
import os
import sys
import time

import pytest
from _pytest.runner import runtestprotocol

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from harness import HOOK_LIB, LIB, PROCESSOR  # noqa: E402
from harness.host import MUCH, HostWatch  # noqa: E402
from harness.selection import for_processor, in_one_mode, part_of  # noqa: E402

TRIES = int(os.environ.get("UNSTALL_TESTS_TRIES", "30"))
LONGEST_S = 180  # no case is begun again after that


def pytest_addoption(parser):
    parser.addoption("--part", metavar="I/N", default="1/1", help="only the Ith of N parts of the cases")


def pytest_collection_modifyitems(config, items):
    kept = for_processor(items, PROCESSOR)
    kept = in_one_mode(kept) if os.environ.get("UNSTALL_TESTS_QUICK") == "1" else kept
    kept = part_of(kept, config.getoption("--part"))
    chosen = set(kept)
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = kept


def pytest_configure(config):
    # The runner itself is never preloaded: it would measure itself.
    if "libunstall" in os.environ.get("LD_PRELOAD", ""):
        raise pytest.UsageError("run the tests without LD_PRELOAD: the runner is never preloaded")
    # A program that prints to a pipe and ends without a flush would pass where the caller's shell has this.
    os.environ.pop("PYTHONUNBUFFERED", None)
    config.addinivalue_line("markers", "no_library: this test does without the built library")
    config.addinivalue_line("markers", "processors(name, ...): this test is for a library of these only")
    config.addinivalue_line("markers", "unstarved: left out where the host takes the processors")


def pytest_runtest_setup(item):
    end = os.environ.get("UNSTALL_TESTS_END")
    if end and (time.time() > float(end) or item.get_closest_marker("unstarved")):
        pytest.skip("left out")  # scripts/test, count-cases.py
    if item.get_closest_marker("no_library"):
        return
    for library in (LIB, HOOK_LIB):
        if not library.exists():
            pytest.fail(f"{library} is missing: build first (ninja -C build)", pytrace=False)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item, nextitem):
    """A case that failed while the host kept the processors from this machine is repeated, up to TRIES times
    and for LONGEST_S.

    Its failure says nothing: delayed acknowledgements, windows and limits are times of a clock that goes on.
    On a machine that runs, no case is ever repeated.  The report counts the repetitions (count-cases.py).
    """
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    end = time.monotonic() + LONGEST_S
    for again in range(TRIES):
        host = HostWatch()
        reports = runtestprotocol(item, nextitem=nextitem, log=False)
        if not any(report.failed for report in reports):
            break
        taken = host.share_taken()
        if again == TRIES - 1 or taken < MUCH or time.monotonic() > end:
            break
        print(f"\n{item.nodeid}: failed while the host took {taken:.0%} of the time; again")
        item.user_properties.append(("repeated", f"{taken:.2f}"))
        with contextlib.suppress(Exception):  # the fixtures of modules too are made anew
            item.session._setupstate.teardown_exact(None)  # pylint: disable=protected-access
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True
