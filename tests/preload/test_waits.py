# SPDX-License-Identifier: MIT
"""Waits while bytes are held, by every name of the surface table: the bytes leave first.

The window is 100 ms, so that it cannot hide a missing entry: a late byte here is later than that. The window
ends waits that pass by the library, and calls that do not wait keep a turn whole.
"""

import re
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest

from harness import IS_32, bare_env, least, patiently, run
from harness.newest_libc import has_newest_libc
from waits import elf, rows
from waits.client import HELD, TIMES_OF_64, WINDOW_US, absent, needs, perform, program
from waits.judge import BURSTS, MORE, PROMPT_MS, TRIES, judge_again, judge_order

NAMES = sorted(rows.ROWS)
CHECKS = [(name, check, mode) for name, row in rows.ROWS.items()
          for check in row.checks for mode in check.modes]
OTHERS = [(check, mode) for check in rows.OTHERS for mode in check.modes]

# The acts last 350 ms.
LONG_MS = 150


def _ids(checks):
    return [f"{check.act}-{mode}" for *_, check, mode in checks]


@pytest.mark.no_library
def test_every_row_of_the_surface_has_its_test_and_every_test_its_row():
    assert sorted(rows.surface()) == NAMES


@pytest.mark.no_library
def test_the_client_calls_every_row_by_its_own_name():
    imported = elf.imported(program())
    assert [name for name in NAMES if name not in imported] == []


@pytest.fixture(scope="session")
def bare():
    """Every act performed without the library: act -> outcome."""
    acts = [act for act in run([program(), "list"], bare_env()).stdout.splitlines()
            if act not in absent() or has_newest_libc()]

    waiting = {row.checks[0].act for row in rows.ROWS.values() if row.behaviour == rows.WAITS}

    def in_time(act):
        """On a busy machine bytes may be late, and a wait may begin when what it waits for has happened."""
        for again in range(TRIES):
            try:
                outcome = perform(act, to_the_end=True)
            except subprocess.TimeoutExpired:
                if again == TRIES - 1:
                    raise
                continue
            if outcome.late_ms is not None and outcome.late_ms < LONG_MS and \
                    (act not in waiting or int(outcome.stdout.split()[-1]) >= LONG_MS):
                break
        return outcome

    with ThreadPoolExecutor(8) as threads:
        return dict(zip(acts, threads.map(in_time, acts)))


@pytest.mark.no_library
@pytest.mark.parametrize("name", NAMES)
def test_bare_the_call_behaves_as_the_table_says(bare, name):
    needs(name)
    row = rows.ROWS[name]
    for check in row.checks:
        outcome = bare[check.act]
        assert outcome.stderr == ""
        assert outcome.late_ms is not None and outcome.late_ms < LONG_MS
    stdout = bare[row.checks[0].act].stdout
    if row.behaviour == rows.ENDS:
        # the parent's end is daemon's child's beginning
        assert stdout == "" or name == "daemon"
        return
    took = int(stdout.split()[-1])
    if row.behaviour == rows.WAITS:
        assert took >= LONG_MS
    elif took >= LONG_MS:  # by the call, or by a busy machine
        act = row.checks[0].act
        assert least(lambda: int(perform(act, to_the_end=True).stdout.split()[-1]), LONG_MS) < LONG_MS


@pytest.mark.parametrize("name,check,mode", CHECKS, ids=_ids(CHECKS))
def test_nothing_is_held_while_waiting(name, check, mode):
    needs(name)
    judge_again(check, mode)


@pytest.mark.parametrize("check,mode", OTHERS, ids=_ids(OTHERS))
def test_nothing_is_held_in_other_ways_either(check, mode):
    judge_again(check, mode)


# Here the window's thread, which ends before it or is made to look, must not be what sends.
ALONE = ("fork", "_Fork", "vfork", "forkpty", "daemon", "clone", "pthread_create", "unshare", "setuid",
         "prctl", "syscall SYS_seccomp", "system", "wordexp", "popen", "posix_spawn", "execve", "execvp",
         "fexecve", "exit", "pthread_exit", "a thread's return")


@pytest.mark.parametrize("act", ALONE)
def test_nothing_is_held_where_no_window_is_kept(act):
    judge_again(rows.Check(act), "cork", thread="never")


# What ends the process or its cure sends what other threads hold, too; likewise what gives it to a program.
BESIDE = ("execve", "execvp", "_exit", "syscall SYS_exit_group", "abort", "the return from main", "prctl",
          "syscall SYS_seccomp", "clone", "posix_spawn", "system", "popen", "vfork")


@pytest.mark.parametrize("mode, thread", [("cork", "never"), ("cork", "always"), ("coalesce", "always")])
@pytest.mark.parametrize("act", BESIDE)
def test_nothing_is_held_by_another_thread(act, mode, thread):
    judge_again(rows.Check(act), mode, beside=True, thread=thread)


@pytest.mark.parametrize("act", ("fork", "_Fork", "unshare", "setuid"))
def test_nothing_is_buffered_by_another_thread(act):
    judge_again(rows.Check(act), "coalesce", beside=True)


if IS_32:
    @pytest.mark.parametrize("name", rows.OF_64)
    def test_nothing_is_held_while_a_program_with_64_bit_times_waits(name):
        assert name in elf.imported(program(*TIMES_OF_64))
        check = rows.OF_64[name]
        judge_again(check, check.modes[0], flags=TIMES_OF_64)


ORDERED = [name for name in NAMES if rows.ROWS[name].own]


@pytest.mark.parametrize("name", ORDERED)
def test_the_push_stands_before_the_wait(name):
    needs(name)
    patiently(lambda: judge_order(name, rows.ROWS[name].checks[0].modes[0]), TRIES)


UNSEEN = ("fgets on a pipe", "a futex", "a computation", "a trickle of writes",
          # of a process without other threads, which may start one
          "a child's write")


@pytest.mark.unstarved  # the thread of a child that starts late leaves nothing of 100 ms to measure
@pytest.mark.parametrize("mode", rows.ALL)
@pytest.mark.parametrize("window_us", (1000, 5000, WINDOW_US))
@pytest.mark.parametrize("act", UNSEEN)
def test_unseen_waits_are_ended_by_the_window(act, window_us, mode):
    bursts = BURSTS if mode == "auto" else 0
    window_ms = window_us / 1000

    def attempt():
        late = perform(act, mode, window_us=window_us, bursts=bursts).late_ms
        # Beyond the window the kernel itself lets go after 200 ms; a busy machine wakes late.
        assert late is not None and late <= window_ms + 3 * PROMPT_MS
        # It was held at all: a library that never holds would pass the other cases.
        assert window_us < WINDOW_US or late >= window_ms / 4

    patiently(attempt, TRIES)


# Nothing here can block.
WHOLE = (
    "nothing", "poll with timeout 0", "ppoll with timeout 0", "select with timeout 0",
    "pselect with timeout 0", "epoll_wait with timeout 0", "epoll_pwait with timeout 0",
    "epoll_pwait2 with timeout 0", "poll for room", "select for room", "read of a file",
    "readv of a file", "recv with MSG_DONTWAIT", "waitpid with WNOHANG", "waitid with WNOHANG",
    "sigtimedwait with timeout 0", "msgrcv with IPC_NOWAIT",
    "syscall SYS_futex FUTEX_WAKE", "syscall SYS_epoll_pwait with timeout 0",
    "syscall SYS_wait4 with WNOHANG", "syscall SYS_waitid with WNOHANG",
    "syscall SYS_io_getevents of at least none",
    "fcntl F_GETFL", "getsockopt", "prctl PR_GET_NAME", "write to a file", "semop with IPC_NOWAIT",
    "semtimedop with IPC_NOWAIT", "flock with LOCK_NB", "lockf with F_TLOCK", "fcntl F_SETLK")


def _keeps_whole(act, mode, bursts, polling=False):
    outcome = perform(f"whole over {act}", mode, bursts=bursts, polling=polling,
                      expected=HELD + len(MORE))
    assert outcome.data[HELD:] == MORE
    assert outcome.late_ms <= PROMPT_MS
    assert outcome.segments == 1


@pytest.mark.parametrize("mode", rows.ALL)
@pytest.mark.parametrize("act", WHOLE)
def test_what_does_not_wait_keeps_the_turn_whole(act, mode):
    patiently(lambda: _keeps_whole(act, mode, BURSTS if mode == "auto" else 0), TRIES)


@pytest.mark.parametrize("mode", rows.ALL)
def test_a_wait_known_to_return_at_once_keeps_the_turn_whole(mode):
    patiently(lambda: _keeps_whole("poll that returns at once", mode, BURSTS, polling=True), TRIES)


@pytest.mark.parametrize("mode", ("cork", "coalesce"))
def test_a_wait_is_asked_first_only_where_that_is_known_to_help(mode):
    def attempt():
        outcome = perform("poll for room, then a wait", mode, expected=2 * HELD, trace=True)
        polls = [call for call in outcome.calls if call.name == "poll"]
        # for room: asked, then waited for; the other wait is made as it is
        assert [re.match(r".*, (\d+)", call.args).group(1) for call in polls] == ["0", "10", "350"]

    patiently(attempt, TRIES)  # on a busy machine the window may end the hold


POLLS = ("poll", "__poll", "__poll_chk", "ppoll", "__ppoll_chk", "select", "__select", "pselect",
         "epoll_wait", "epoll_pwait", "epoll_pwait2")


@pytest.mark.parametrize("mode", rows.ALL)
@pytest.mark.parametrize("name", POLLS)
def test_nothing_is_held_when_such_a_wait_does_not_return_at_once(name, mode):
    needs(name)
    judge_again(rows.ROWS[name].checks[0], mode, bursts=BURSTS, polling=True)


@pytest.mark.parametrize("mode", rows.ALL)
@pytest.mark.parametrize("name", ("accept", "accept4"))
def test_an_accepted_connection_is_held_without_a_question(name, mode):
    judge_again(rows.Check("socket", judge=rows.KNOWN), mode, origin=name)


@pytest.mark.parametrize("mode", ("bare", "cork", "coalesce", "auto"))
def test_the_process_ends_with_its_last_thread(mode):
    def attempt():
        outcome = perform("the last thread's pthread_exit", None if mode == "bare" else mode,
                          bursts=BURSTS if mode == "auto" else 0, to_the_end=True)
        assert not outcome.lost

    patiently(attempt, TRIES)  # on a busy machine it may begin too late
