# SPDX-License-Identifier: MIT
"""The mode changes while traffic runs: no stall in a curing mode, no byte lost, and off is bare again."""

import json
import statistics

import pytest

from harness import (CURING_MODES, HOOK_LIB, MODES, STALL_MS, AnsweringPeer, judged, pattern, preload_env,
                     program, run, run_client, run_judged, run_strace)
from harness.patience import TRIES

EXCHANGES = 8
HOOKED = preload_env(library=HOOK_LIB)["LD_PRELOAD"]


def run_switches(threads, milliseconds, modes):
    """Run the program; gives for each phase the times of the exchanges that lie within it."""
    with AnsweringPeer() as peer:
        done = run([program("live_switch"), *peer.target, threads, milliseconds, *modes],
                   preload_env("off", library=HOOK_LIB))
        for connection in peer.connections:
            received = bytes(connection.received)
            assert len(received) % 300 == 0
            assert received == pattern(len(received))
    facts = json.loads(done.stdout)
    assert facts["loaded"]
    assert sorted(len(connection.received) // 300 for connection in peer.connections) == sorted(
        len(thread) for thread in facts["exchanges"])
    phases = [[] for _ in modes]
    for thread in facts["exchanges"]:
        for phase, us in thread:
            if phase >= 0:
                phases[phase].append(us)
    return phases


def switches_are_right(threads, milliseconds, walk, judged_modes):
    """The phases of these modes stall or are cured, or do so when the program is run again."""
    wanted = {phase: mode not in CURING_MODES for phase, mode in enumerate(walk) if mode in judged_modes}
    for _ in range(TRIES):
        phases = run_switches(threads, milliseconds, walk)
        for mode, times in zip(walk, phases):
            assert times, f"no exchange lay within a phase of {mode}"
        found = {phase: statistics.median(phases[phase]) > STALL_MS * 1000 for phase in wanted}
        if found == wanted:
            break
    assert found == wanted, f"phase -> whether it stalls, in {walk}"


@pytest.mark.parametrize("first", MODES)
def test_from_each_mode_to_each_other(first):
    """Every pair of modes, with three threads under way."""
    walk = [mode for other in MODES if other != first for mode in (first, other)]
    switches_are_right(3, 250, walk, CURING_MODES)


def test_off_stalls_again():
    switches_are_right(2, 600, ["off", "auto", "off", "cork", "observe"], MODES)


def test_switching_quickly_loses_nothing():
    run_switches(4, 3, list(MODES) * 40)


def run_off(mode, strace):
    with AnsweringPeer() as peer:
        arguments = [program("live_off"), *peer.target, EXCHANGES, 0, mode]
        env = preload_env("off", library=HOOK_LIB)
        if strace:
            done = run_strace(arguments, env)
        else:
            done = run_client(arguments[0], "off", *arguments[1:], LD_PRELOAD=HOOKED)
        assert bytes(peer.connections[0].received) == pattern((9 + EXCHANGES) * 300)
    return done


@pytest.mark.parametrize("mode", MODES)
def test_after_a_switch_to_off_the_trace_is_bare(mode):
    trace = run_off(mode, strace=True)
    for index in range(EXCHANGES):
        calls = [call for call in trace.after(index) if not call.has("TCP_INFO")]
        assert [(call.name, call.ret) for call in calls] == [("write", 200), ("write", 100), ("read", 200)]


@pytest.mark.parametrize("mode", MODES)
def test_after_a_switch_to_off_the_applications_values_are_back(mode):
    done = judged(lambda: run_off(mode, strace=False), False)
    assert done.facts["nodelay"] == 0
    assert done.stalls


@pytest.mark.parametrize("mode", CURING_MODES)
def test_a_connection_that_was_not_used_before_the_switch_is_cured(mode):
    """It was taken for one to leave alone, and stayed so."""
    assert not run_judged(program("live_unused"), "off", EXCHANGES, 0, mode, cured=True,
                          LD_PRELOAD=HOOKED).stalls
