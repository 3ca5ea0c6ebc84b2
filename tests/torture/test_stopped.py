# SPDX-License-Identifier: MIT
"""A thread is stopped inside the library, or a handler leaves it there by a way that no library sees.

stopped.c opens with the bug: such a thread left all others to wait for ever, in every mode, `off` too.  Each
case meets the library at a few of its instructions; UNSTALL_TESTS_STEPS=all meets it at each (half an hour).
"""

import os
import signal
import subprocess
from pathlib import Path

import pytest

from harness import compile_c, mode_env
from program import ALL_MODES

HERE = Path(__file__).parent
ALL = os.environ.get("UNSTALL_TESTS_STEPS") == "all"
PLACES = 0 if ALL else 6
LIMIT = 1500 if ALL else 60
TRIES = 5
# A call that took a second (an end: SIGALRM).  A busy machine is late once, a call that waits each time.
LATE = "LATE: "

AT_PLACES = ["calls", "collector", "leave jump", "leave jump alone", "leave jump and exit",
             "leave jump alone and exit", "leave setcontext", "leave setcontext alone", "leave coroutine",
             "leave deep jump", "leave deep jump alone", "leave deep jump alone and exit"]
# A process for each place: the first ones of so many.
ENDS = {"first calls": 0, "close": 0, "shutdown": 0, "exec": 0, "exit": 0, "_exit": 0, "quick_exit": 0,
        "abort": -signal.SIGABRT}
FIRST_PLACES = range(0, 1500, 5) if ALL else (0, 211, 467)
SIBLINGS_PLACES = range(3, 700, 1 if ALL else 16)


def outcome(mode, *arguments):
    """Exit status, and what was said."""
    program = compile_c(HERE / "stopped.c")
    for _ in range(TRIES):
        try:
            done = subprocess.run([program, *map(str, arguments)], env=mode_env(mode), capture_output=True,
                                  text=True, stdin=subprocess.DEVNULL, check=False, timeout=LIMIT)
        except subprocess.TimeoutExpired as slow:
            return None, f"no end within {LIMIT} s: {slow.stdout}{slow.stderr}"
        if LATE not in done.stdout and done.returncode != -signal.SIGALRM:
            break
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("mode", ALL_MODES)
@pytest.mark.parametrize("case", AT_PLACES)
def test_no_call_waits_and_all_bytes_come(mode, case):
    assert outcome(mode, case, PLACES) == (0, "all came\n")


def at(firsts, modes):
    """Bare there are no places: one is all."""
    return [(first, mode) for first in firsts for mode in modes if mode != "bare" or first == firsts[0]]


@pytest.mark.parametrize("first, mode", at(FIRST_PLACES, ALL_MODES))
@pytest.mark.parametrize("case", ENDS)
def test_an_end_does_not_wait_and_all_bytes_come(case, first, mode):
    assert outcome(mode, case, PLACES, first) == (ENDS[case], "all came\n")


@pytest.mark.parametrize("first, mode", at(SIBLINGS_PLACES, ("bare", "coalesce")))
@pytest.mark.parametrize("case", ["leave end", "leave exec"])
def test_a_handlers_end_loses_nothing(case, first, mode):
    assert outcome(mode, case, 1, first) == (0, "all came\n")


@pytest.mark.parametrize("first, mode", at(SIBLINGS_PLACES, ("bare", "coalesce", "auto")))
def test_a_coroutine_above_proves_nothing(first, mode):
    """Its call was taken for a proof that the interrupted one was over, which then went on."""
    assert outcome(mode, "leave sibling", 1, first) == (0, "all came\n")
