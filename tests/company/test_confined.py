# SPDX-License-Identifier: MIT
"""Programs that confine themselves while bytes are held: held bytes leave before; they live on as bare."""

import json
import os
import subprocess
import time

import pytest

from clients import EXCHANGES, binary, checking_peer
from harness import (CURING_MODES, MODES, STALL_MS, AnsweringPeer, ScriptedPeer, mode_env, pattern, refuses,
                     run, run_client, run_directed, run_strace, skip, stats_directory)

ALL = ("bare", *MODES)
TRIES = 5


def confined(name, how, mode, *more, cwd=None, cured=(), **variables):
    """Run a program of confined.h; its facts.  In a curing mode nothing may stall in the halves `cured`: a
    busy machine gets some more runs for that."""
    for _ in range(TRIES):
        with checking_peer() as peer:
            done = run([binary(name), *peer.target, EXCHANGES, how, *more], mode_env(mode, **variables),
                       timeout=20, cwd=cwd)
        assert done.stderr == ""
        facts = json.loads(done.stdout)
        assert facts["loaded"] is (mode != "bare")
        if mode not in CURING_MODES or all(facts[half] < STALL_MS * 1000 for half in cured):
            return facts
    raise AssertionError(f"a stall: {facts}")


BEFORE, AFTER = "before_us", "after_us"


# ---- seccomp ---------------------------------------------------------------

FILTERS = ("prctl", "syscall", "all-threads", "syscall-prctl", "exit")


@pytest.mark.parametrize("mode", ALL)
@pytest.mark.parametrize("how", FILTERS)
def test_a_filter_that_kills_sees_no_call_of_ours(how, mode):
    """Neither the push before it nor a later call, the process's end included; the window is long."""
    confined("filtered", how, mode, cured=[BEFORE], UNSTALL_WINDOW_US=100000)


@pytest.mark.parametrize("mode", ALL)
def test_a_filter_that_kills_sees_no_question_of_ours_about_memory_and_no_mapping(mode, tmp_path):
    """clone3 made process_vm_readv, messages rt_sigprocmask, a failed exec faccessat, new sockets mmap."""
    confined("filtered", "far", mode, UNSTALL_WINDOW_US=100000, UNSTALL_REPORT=f"{tmp_path}/%p.json")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("mode", MODES)
def test_no_report_is_written_once_a_filter_is_there(mode, tmp_path):
    confined("filtered", "prctl", mode, UNSTALL_REPORT=f"{tmp_path}/%p.json")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("mode", ALL)
def test_a_filter_that_is_refused_changes_nothing(mode):
    assert confined("filtered", "refused", mode, cured=[AFTER])["errno"] != 0


@pytest.mark.parametrize("mode", ALL)
def test_strict_mode_leaves_no_thread_behind(mode):
    with checking_peer(7) as peer:
        done = run([binary("strict"), *peer.target], mode_env(mode), timeout=20)
    assert done.stdout == ("bare\n" if mode == "bare" else "loade")


@pytest.mark.parametrize("mode", ["off", "observe", "auto", "coalesce"])
def test_strict_mode_may_not_even_read_the_clock(mode):
    """Statistics read it by the vDSO: rdtsc is SIGSEGV there."""
    with checking_peer(7) as peer, stats_directory() as folder:
        done = run([binary("strict"), *peer.target], mode_env(mode, UNSTALL_STATS=folder), timeout=20)
    assert done.stdout == "loade"


# ---- namespaces ------------------------------------------------------------

@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("how", ["unshare", "syscall", "two-threads", "setns", "child"])
def test_a_namespace_is_entered_as_bare(how, mode):
    facts = confined("namespaces", how, mode, cured=[BEFORE, AFTER])
    assert facts["errno"] == confined("namespaces", how, "bare")["errno"]


# ---- rights ----------------------------------------------------------------

BOTH_FORMS = ("capset", "personality", "setuid", "setgid", "setreuid", "setregid", "setresuid", "setresgid",
              "setgroups", "setfsuid", "setfsgid", "unshare", "setns", "no_new_privs", "capbset_drop",
              "cap_ambient", "securebits", "keepcaps")
LIBC_ALONE = ("seteuid", "setegid", "initgroups")
SYSCALL_ALONE = ("keyctl", "landlock")


# Modes, and whether the program has a thread of its own -> the tasks of ours while bytes are held.
OURS = {**{(mode, "thread"): int(mode in ("auto", "cork", "coalesce")) for mode in ALL},
        ("coalesce", "alone"): 1}


def beside_ours(hows):
    """(how, mode, own): where no task is ours, one `how` shows that; that each call is as bare there has
    tests/abi."""
    return [(how, mode, own) for how in hows for mode, own in OURS if OURS[mode, own] or how == hows[0]]


@pytest.mark.parametrize("how, mode, own", beside_ours(
    [*BOTH_FORMS, *LIBC_ALONE, *(f"syscall-{name}" for name in (*BOTH_FORMS, *SYSCALL_ALONE))]))
def test_no_thread_of_ours_keeps_what_the_program_has_dropped(how, mode, own):
    """Ours kept capabilities, users and groups, and ran without the sandbox."""
    if os.geteuid() != 0:
        skip("only root can drop what root has")
    for _ in range(TRIES):
        facts = confined("privileges", how, mode, *(["thread"] if own == "thread" else []),
                         cured=[BEFORE, AFTER])
        assert facts["errno"] == facts["stayed"] == 0
        if (facts["had"], facts["has"], facts["differ"]) == (OURS[mode, own], OURS[mode, own], 0):
            return  # without a hold for 0.1 s, as on a busy machine, ours ends by itself
    assert facts["had"] == facts["has"] == OURS[mode, own] and facts["differ"] == 0


@pytest.mark.parametrize("mode", ALL)
@pytest.mark.parametrize("how", ["tkill", "tgkill", "queue", "libc", "unlisted"])
def test_each_task_answers_a_signal(how, mode):
    """libpsx waited for our thread, which blocks all signals, as long as another thread went on writing."""
    with AnsweringPeer() as peer:
        done = run([binary("task_signals"), *peer.target, 0, how], mode_env(mode), timeout=30)
    facts = json.loads(done.stdout)
    assert facts["loaded"] is (mode != "bare")
    assert facts["all"] and facts["changes"] == 3, facts
    (connection,) = peer.connections
    assert bytes(connection.received) == pattern(facts["exchanges"] * 300)


# ---- the time-stamp counter --------------------------------------------------

@pytest.mark.parametrize("mode", ["bare", "off", "nodelay", "auto"])
@pytest.mark.parametrize("room", [200, 4096])
def test_where_the_clock_is_a_call_it_is_not_read_to_look_for_signs(room, mode):
    """Promise 6: eight reads in 1024, each one behind a read that got all that it asked for, and each
    connection made, were timed: 6001 calls of the clock in 2000 exchanges."""
    with AnsweringPeer() as peer:
        trace = run_strace([binary("no_counter"), *peer.target, room], mode_env(mode))
    if trace.stdout == "no such processor\n":
        skip("PR_SET_TSC: this processor has none")
    assert trace.stdout == ("bare\n" if mode == "bare" else "loaded\n")
    assert [call.name for call in trace.main].count("clock_gettime") == 0


# ---- calls that the kernel refuses -------------------------------------------

@pytest.mark.parametrize("mode", ALL)
def test_a_refused_tcp_nodelay_ends_the_holds(mode):
    """As by an LSM, or a BPF program of the cgroup: each message was held for the kernel's 200 ms.  Bare it
    stalls for 40 ms."""
    with checking_peer() as peer:
        done = run_client(refuses("setsockopt", 2, "TCP_NODELAY", "EPERM"), mode, binary("put_write"),
                          *peer.target, EXCHANGES)
    assert done.median_ms < 100


FORKS = ("held at fork", "held at _Fork", "held at an unseen fork", "a child of fork holds",
         "a child of _Fork holds", "a child of an unseen fork holds", "held by another thread at fork")


@pytest.mark.parametrize("mode", ALL)
@pytest.mark.parametrize("case", FORKS)
def test_a_child_is_known_where_no_page_is_wiped_for_it(case, mode):
    """Kernels before 4.14 and sandboxes refuse MADV_WIPEONFORK: the child believed that it had our thread."""
    wipes_none = refuses("madvise", 2, "MADV_WIPEONFORK", "EINVAL")
    wrong = run_directed(mode, case, before=[wipes_none], UNSTALL_THREAD="always")
    assert wrong is None, wrong


# ---- limits ----------------------------------------------------------------

@pytest.mark.parametrize("mode", ALL)
@pytest.mark.parametrize("what, when", [
    ("threads", "first"), ("threads", "later"), ("memory", "first"), ("memory", "later"),
    ("files", "first"), ("files", "later"), ("descriptors", "later"),
])
def test_nothing_more_to_be_had(what, when, mode, tmp_path):
    """Without a thread, or memory for one, the late push cures; without memory for the table nothing does."""
    confined("limited", what, mode, *(["first"] if when == "first" else []), cwd=tmp_path,
             cured=[] if (what, when) == ("memory", "first") else [BEFORE, AFTER])


@pytest.mark.parametrize("how, mode, own", beside_ours(
    ["fork", "_Fork", "clone", "posix_spawn", "posix_spawnp", "popen", "system", "pthread_create",
     "older posix_spawn", "older posix_spawnp", "older popen", "older pthread_create",
     "later pthread_create"]))
def test_our_thread_takes_no_room_from_the_program(how, mode, own):
    """With RLIMIT_NPROC reached, the program's own task failed with EAGAIN where bare it was made.  The older
    definitions still did so when those of now did no more."""
    if os.geteuid() != 0:
        skip("only root can become a user of its own")
    confined("room_for_one", how if own == "thread" else f"alone-{how}", mode)


@pytest.mark.parametrize("mode", ALL)
@pytest.mark.parametrize("already", [(), ("0", "used")], ids=["new", "used"])
def test_the_table_cannot_grow(already, mode):
    """Its calls pass through, in order with those that do not."""
    with AnsweringPeer() as peer:
        run([binary("no_table_memory"), *peer.target, EXCHANGES, *already], mode_env(mode), timeout=20)
    assert bytes(peer.connections[0].received) == pattern(EXCHANGES * 300)


@pytest.mark.parametrize("mode", ALL)
def test_closed_while_full_and_without_a_descriptor_to_spare(mode):
    with ScriptedPeer(told=True) as peer, \
            subprocess.Popen([binary("close_while_full"), *peer.target], env=mode_env(mode),
                             stdout=subprocess.PIPE, text=True) as program:
        accepted = int(program.stdout.readline())
        time.sleep(0.3)  # by now it closes
        peer.tell()
        assert program.wait(20) == 0
    assert bytes(peer.connections[0].received) == pattern(accepted)
