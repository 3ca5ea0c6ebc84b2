# SPDX-License-Identifier: MIT
"""Random programs, bare and in every mode: no call returns a result that a bare one could not, every stream
is complete and in order, no byte comes later than the window allows.

Seeds are taken in turn, so that a failure here is a failure everywhere: `scripts/torture --mode MODE
--seed SEED` replays it.  Programs with threads are scheduled anew each time: replay a few times.
"""

import re

import pytest

import program
from harness import patiently
from program import ALL_MODES, run_program

PROGRAMS = 4       # a mode
OPERATIONS = 470   # a program: some 10 000 in all
FIRST_SEED = 1000
REPLAYS = 2


@pytest.mark.parametrize("number", range(PROGRAMS))
@pytest.mark.parametrize("mode", ALL_MODES)
def test_random_program(mode, number):
    outcome = run_program(mode, FIRST_SEED + number, OPERATIONS)
    for _ in range(REPLAYS):
        if outcome.only_late():  # once may be the machine's doing
            outcome = run_program(mode, FIRST_SEED + number, OPERATIONS)
    print(outcome.operations, outcome.facts)
    assert outcome.operations >= OPERATIONS // 2
    assert not outcome.failures, "\n".join([str(outcome), *outcome.trace[-60:]])


@pytest.mark.parametrize("window_us", [500, 100000])
@pytest.mark.parametrize("mode", ["cork", "coalesce", "auto"])
def test_random_program_within_another_window(mode, window_us):
    outcome = run_program(mode, FIRST_SEED, OPERATIONS, judge_lateness=False,
                          environment={"UNSTALL_WINDOW_US": window_us})
    assert not outcome.failures, "\n".join([str(outcome), *outcome.trace[-60:]])


# ---- the judges themselves -------------------------------------------------

@pytest.mark.parametrize("fault, says", [
    ("byte", "is wrong"),
    ("lost", "arrived"),
    pytest.param("late", "after its write returned", marks=pytest.mark.unstarved),
    ("return", "returned"),
])
def test_a_fault_is_found(fault, says):
    """The program itself commits one fault: the judges must see it."""
    def attempt():
        outcome = run_program("off", 1, 200, environment={"TORTURE_FAULT": fault}, judge_lateness=True)
        assert any(says in failure for failure in outcome.failures), str(outcome)

    patiently(attempt)  # 0.6 s is not late where the machine itself kept the peer for 0.23 s


def test_a_program_that_hangs_is_ended_and_told(monkeypatch):
    monkeypatch.setattr(program, "LEAST_LIMIT", 2)
    monkeypatch.setattr(program, "LIMIT_EACH", 0)
    outcome = run_program("off", 1, 200, environment={"TORTURE_FAULT": "hang"})
    hung = [failure for failure in outcome.failures if "the program hangs" in failure]
    assert hung and re.search(r"\d+/\d+: ", hung[0]), str(outcome)


@pytest.mark.unstarved
def test_a_late_byte_is_told_with_what_both_ends_said():
    def attempt():
        outcome = run_program("off", 1, 200, environment={"TORTURE_FAULT": "late"}, judge_lateness=True)
        late = [failure for failure in outcome.failures if "after its write returned" in failure]
        assert late and all(end in late[0]
                            for end in ("reader: state", "writer: state", "timeouts")), str(outcome)
        assert outcome.notes_of_failure(), "the operations before it are not told"

    patiently(attempt)  # 0.6 s is not late where the machine itself kept the peer for 0.23 s
