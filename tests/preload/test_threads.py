# SPDX-License-Identifier: MIT
"""A program with a single thread keeps a single one, and a thread of ours changes nothing in others."""

import os
import signal
import statistics
import subprocess
import time
from functools import lru_cache

import pytest

from harness import (MODES, STALL_MS, AnsweringPeer, mode_env, patiently, program, run_client, run_judged,
                     run_with_peer)

ALL = ["bare", *MODES]
EXCHANGES = 30
TRIES = 10  # a busy machine may keep a program from having a habit, or break it


def has_tasks(count, mode, own="none", **variables):
    """So many tasks that the program has not made; ours ends by itself 0.1 s after the last hold."""
    def attempt():
        done = run_with_peer("own_threads", mode, EXCHANGES, 0, own, 0, **variables)
        assert done.facts["after"] - done.facts["before"] == count
    patiently(attempt)


# ---- when there is a thread of ours ------------------------------------------

@pytest.mark.parametrize("mode", ALL)
def test_a_program_with_one_thread_stays_one(mode):
    has_tasks(1 if mode == "coalesce" else 0, mode)


@pytest.mark.parametrize("own", ["thread", "task"])
@pytest.mark.parametrize("mode", ALL)
def test_a_program_with_threads_has_one_more_where_bytes_are_held(mode, own):
    has_tasks(1 if mode in ("auto", "cork", "coalesce") else 0, mode, own)


@pytest.mark.parametrize("own", ["none", "thread"])
@pytest.mark.parametrize("mode", MODES)
def test_never_means_never_and_cures_all_the_same(mode, own):
    done = run_judged(program("own_threads"), mode, EXCHANGES, 0, own, 0, UNSTALL_THREAD="never")
    assert done.facts["after"] == done.facts["before"]
    if mode not in ("off", "observe"):
        assert not done.stalls


@pytest.mark.parametrize("mode", ["auto", "cork", "coalesce"])
def test_always_means_always(mode):
    has_tasks(1, mode, UNSTALL_THREAD="always")


FORKS = 1000


@pytest.mark.parametrize("mode", MODES)
def test_a_program_that_forks_has_its_own_tasks_only_and_holds_on(mode):
    """Python 3.12 warned in os.fork() of a second thread; stops before a fork do not end the holds."""
    holds = mode in ("auto", "cork", "coalesce")

    def attempt():
        done = run_with_peer("forks_between", mode, EXCHANGES, 0, FORKS if holds else 20,
                             UNSTALL_THREAD="always")
        assert done.facts["after"] == 1
        assert done.facts["before"] == 1 + holds
        assert not holds or done.segments < 1.5
    patiently(attempt)  # a busy machine may end a window in many an exchange


PAUSE_MS = 150  # the thread ends 100 ms after the last hold


@pytest.mark.parametrize("mode", ["auto", "cork"])
def test_a_turn_after_a_pause_does_not_wait_for_the_threads_start(mode):
    def attempt():
        done = run_with_peer("own_threads", mode, 12, 0, "thread", PAUSE_MS)
        assert done.facts["after"] == done.facts["before"]
        assert done.segments == 2, "not held"
        assert done.median_ms - PAUSE_MS < STALL_MS
    patiently(attempt)  # a turn that the machine stops for a tick of the clock, 4 ms, may start it


def test_starting_anew_fills_no_memory():
    """The thread's storage was cleared for the next start: 16 MB in a program with 8 MB of thread-locals."""
    done = run_with_peer("large_storage", "cork", 4, UNSTALL_THREAD="always")
    assert done.facts["grown_kb"] < 4096


# ---- the bound of a hold without it --------------------------------------------
# A habit is learned where a program pauses for less than a millisecond (HABIT_GAP_NS), which
# a starved host prevents.

def habits(mode):
    """The run of changes_habit in which holds were seen, or the last one of all tries."""
    for _ in range(TRIES):
        done = run_with_peer("changes_habit", mode, EXCHANGES)
        if done.facts["held"][0]:
            break
    return done.facts


@pytest.mark.unstarved
def test_a_habit_that_changes_costs_two_late_pieces_an_endpoint():
    """Two pieces and a read thirty times; then three pieces and computing, on three connections."""
    def attempt():
        facts = habits("auto")
        late = [number for number, ms in enumerate(facts["kept_ms"]) if ms > 100]
        assert facts["held"] == [True, True,
                                 False], "held by habit; after two late ones, never again to that endpoint"
        assert late == [0, 3] and max(facts["kept_ms"]) < 350, facts["kept_ms"]

    patiently(attempt, TRIES)


@pytest.mark.unstarved
@pytest.mark.parametrize("mode, what, late", [("auto", "one-turn", 1), ("auto", "turns", 1),
                                              ("cork", "one-turn", 4)])
def test_a_habit_that_becomes_a_stream_costs_one_late_piece_in_all(mode, what, late):
    """Two pieces and a read 1000 times, one piece and half a second of computing, fifty single writes.

    In `cork`, where the kernel's timer is asked for, the first four are late: lateness is seen.
    """
    def attempt():
        with AnsweringPeer() as peer:
            facts = run_client(program("habit_then_stream"), mode, *peer.target, 1000, 0, what).facts
        assert facts["held"] and len(facts["kept_ms"]) == 51
        assert len([ms for ms in facts["kept_ms"] if ms > 100]) == late, facts["kept_ms"]

    patiently(attempt, TRIES)  # on a busy machine other pieces are late, too


@pytest.mark.unstarved
@pytest.mark.parametrize("what, late", [("pieces", 1), ("children", 0)])
def test_a_habit_of_many_pieces_costs_no_more(what, late):
    """Each of seven pieces came late, and one of each child: their models ended with them."""
    def attempt():
        with AnsweringPeer() as peer:
            facts = run_client(program("late_pieces"), "auto", *peer.target, 70, 0, what).facts
        assert facts["held"]
        assert len([ms for ms in facts["kept_ms"] if ms > 100]) == late, facts["kept_ms"]

    patiently(attempt, TRIES)


@pytest.mark.unstarved
@pytest.mark.parametrize("what, goes_on", [("preempted", True), ("computes", False), ("yields", False)])
def test_a_busy_machine_does_not_end_a_habit(what, goes_on):
    """Holds of 12 ms: by the second one the library can tell a program that computes from a busy machine."""
    def attempt():
        with AnsweringPeer() as peer:
            facts = run_client(program("loses_processor"), "auto", *peer.target, 30, 0, what).facts
        assert facts["preempted"] == [what == "preempted"] * 4, "the load did not do what it had to"
        assert facts["segments"] == ([1] * 4 if goes_on else [1, 1, 2, 2])

    patiently(attempt, 4 * TRIES)


@pytest.mark.unstarved
def test_a_habit_makes_one_segment_a_turn():
    for _ in range(TRIES):
        done = run_with_peer("put_write", "auto", 100)
        if done.segments <= 1.25:
            return
    assert done.segments <= 1.25


@pytest.mark.unstarved
def test_cork_without_a_thread_is_cork_until_read():
    """As TCP_CORK by hand: while a program computes, its bytes are held until the kernel's own timer, about
    200 ms."""
    facts = habits("cork")
    assert 100 < statistics.median(facts["kept_ms"][0::3]) < 350, facts["kept_ms"]


@pytest.mark.parametrize("mode", ["auto", "cork", "coalesce"])
def test_with_a_thread_the_window_is_the_bound(mode):
    done = run_with_peer("changes_habit", mode, EXCHANGES, UNSTALL_THREAD="always")
    assert sorted(done.facts["kept_ms"])[len(done.facts["kept_ms"]) // 2] < 40


# ---- effects that the thread must not have -------------------------------------------

@pytest.mark.parametrize("how", ["wait", "handler", "late"])
@pytest.mark.parametrize("mode", ALL)
def test_a_signal_that_the_program_blocks_reaches_no_other_thread(mode, how):
    """SIGRTMIN killed the process or ran its handler in our thread: SIGRTMIN is 34, not one of libc's own."""
    done = run_with_peer("timer_signal", mode, 8, 0, how, UNSTALL_THREAD="always")
    assert done.facts["taken"] > 0 and done.facts["elsewhere"] == 0
    if how == "wait":
        assert done.facts["taken"] == 20


@pytest.mark.parametrize("thread", ["own", "always"])
@pytest.mark.parametrize("mode", ALL)
def test_a_handler_forks_while_the_program_allocates(mode, thread):
    """libc's fork waited for malloc's lock, which the interrupted code held: libc knew a second thread."""
    done = run_with_peer("forks_in_handler", mode, 12, timeout=60, UNSTALL_THREAD=thread)
    assert done.facts["forks"] >= 300


def test_a_child_forked_while_our_thread_ends_does_not_wait_for_it():
    """The child of a handler went on waiting for a thread that only its parent had: 13 of 150 hung."""
    done = run_with_peer("forks_beneath_stop", "cork", 150, timeout=300, UNSTALL_THREAD="always")
    assert done.facts["made"] == 150 and done.facts["hung"] == 0


@lru_cache
def leave(leaves, end, mode):
    with AnsweringPeer() as peer:
        return subprocess.run([program("main_leaves"), *map(str, peer.target), "6", "0", leaves, end],
                              env=mode_env(mode), timeout=20, stdout=subprocess.DEVNULL,
                              check=False).returncode


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("end", ["returns", "exits", "inline"])
@pytest.mark.parametrize("leaves", ["syscall", "inline"])
def test_a_process_ends_with_its_own_last_thread(leaves, end, mode):
    """It lived on by our thread alone, and not even SIGTERM ended it."""
    code = leave(leaves, end, mode)
    # The kernel gives the code of the last task.  Where that leaves unseen, ours may be it, a moment later.
    assert code == leave(leaves, end, "bare") or (end == "inline" and code == 0)


@pytest.mark.parametrize("mode", ALL)
def test_sigterm_ends_a_process_whose_main_thread_has_left(mode):
    with AnsweringPeer() as peer:
        argv = [program("main_leaves"), *map(str, peer.target), "12", "0", "inline", "stays"]
        with subprocess.Popen(argv, env=mode_env(mode), stdout=subprocess.PIPE, text=True) as child:
            child.stdout.readline()  # the report: the other thread has made its exchanges
            os.kill(child.pid, signal.SIGTERM)
            begin = time.monotonic()
            assert child.wait(10) == -signal.SIGTERM
    assert time.monotonic() - begin < 5
