# SPDX-License-Identifier: MIT
"""The cases of directed/, each in every mode: what chance would not surely meet.

With a window of 100 ms: what leaves early was pushed, what leaves late was forgotten.  The cases sleep
more than they work, so some run beside each other.
"""

import re
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest

from harness import mode_env
from program import ALL_MODES, BINARIES

DIRECTED = str(BINARIES / "torture-directed")
AT_ONCE = 3
LIMIT = 30  # seconds for a case
TRIES = 3
TOO_LATE = re.compile(r"arrived within|kept for|took \d+ ms")


def cases():
    """The names, as the program lists them; none before it is built."""
    try:
        return subprocess.run([DIRECTED], capture_output=True, text=True, check=True).stdout.splitlines()
    except FileNotFoundError:
        return ["built"]


# What libunstall(7) names as a limit: the first hold makes a thread, which is not async-signal-safe (LIMITS).
DOCUMENTED = {
    "the first hold in a handler": ("cork", "coalesce", "auto"),
}


def promised():
    return [(mode, name) for name in cases() for mode in ALL_MODES if mode not in DOCUMENTED.get(name, ())]


def run_case(mode, name):
    """None, or what went wrong.  What was only too late is tried again: a busy machine is late once, what is
    forgotten is forgotten every time."""
    for _ in range(TRIES):
        wrong = run_once(mode, name)
        if wrong is None or not TOO_LATE.search(wrong):
            break
    return wrong


def run_once(mode, name):
    """None, or what went wrong."""
    try:
        done = subprocess.run([DIRECTED, name], env=mode_env(mode, UNSTALL_WINDOW_US=100000, UNSTALL_THREAD="always"),
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
                              timeout=LIMIT)
    except subprocess.TimeoutExpired:
        return f"no end within {LIMIT} s"
    if done.returncode == 0 and not done.stderr:
        return None
    return f"ended with {done.returncode}: {done.stdout}{done.stderr}"


@pytest.fixture(scope="module")
def outcomes(request):
    """Starts what was selected; gives (mode, name) -> what went wrong, when it is known."""
    wanted = [item.callspec.params for item in request.session.items
              if item.function.__name__ == "test_directed" and hasattr(item, "callspec")]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        yield {(p["mode"], p["name"]): pool.submit(run_case, p["mode"], p["name"]) for p in wanted}


@pytest.mark.parametrize("mode, name", promised())
def test_directed(outcomes, mode, name):
    wrong = outcomes[mode, name].result()
    assert wrong is None, wrong
