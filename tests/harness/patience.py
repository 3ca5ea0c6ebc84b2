# SPDX-License-Identifier: MIT
"""Times on a machine that may be busy."""

import time

TRIES = 5


def wait_until(state, seconds=30):
    """What `state` gives, as soon as it is true; false if that does not come."""
    end = time.monotonic() + seconds
    while not (found := state()):
        if time.monotonic() > end:
            return False
        time.sleep(0.005)
    return found


def wait_for(state, seconds=30):
    """As wait_until; asserts that it comes."""
    found = wait_until(state, seconds)
    assert found, f"it does not come within {seconds} s"
    return found


def least(measure, enough, tries=TRIES):
    """The smallest of up to `tries` measurements; the first one below `enough` is the last one made.

    A busy machine is late now and then. A byte that is forgotten or held for too long is late every time.
    """
    smallest = measure()
    for _ in range(tries - 1):
        if smallest < enough:
            break
        smallest = min(smallest, measure())
    return smallest


def patiently(attempt, tries=TRIES):
    """`attempt` until it asserts nothing, up to `tries` times; gives its result."""
    for _ in range(tries - 1):
        try:
            return attempt()
        except AssertionError:
            pass
    return attempt()
