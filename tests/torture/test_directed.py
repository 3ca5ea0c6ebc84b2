# SPDX-License-Identifier: MIT
"""The cases of directed/, each in every mode: situations that chance might not meet.

With a window of 100 ms, bytes that leave early were pushed, and bytes that leave late were forgotten.  The
cases sleep more than they work, so some run beside each other.
"""

from concurrent.futures import ThreadPoolExecutor

import pytest

from harness import directed_cases, run_directed
from program import ALL_MODES

AT_ONCE = 3

# Ten seconds each: bare gives the measure, and coalesce alone can have bytes of its own in the way.
ONLY = {
    "another edge follows EAGAIN when there was room": ("bare", "coalesce"),
}


POOL = ThreadPoolExecutor(AT_ONCE)
begun = {}  # (mode, name): the known error


@pytest.fixture(scope="module", autouse=True)
def begin_all(request):
    """Starts the selected cases, once: a case that is repeated (conftest.py) runs by itself."""
    if not begun:
        for item in request.session.items:
            if item.function.__name__ == "test_directed":
                mode, name = item.callspec.params["mode"], item.callspec.params["name"]
                begun[mode, name] = POOL.submit(run, mode, name)


def run(mode, name):
    return run_directed(mode, name, UNSTALL_THREAD="always")


@pytest.mark.parametrize("mode, name", [(mode, name) for name in directed_cases()
                                        for mode in ONLY.get(name, ALL_MODES)])
def test_directed(mode, name):
    first, begun[mode, name] = begun[mode, name], None
    wrong = first.result() if first else run(mode, name)
    assert wrong is None, wrong
