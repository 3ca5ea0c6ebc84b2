# SPDX-License-Identifier: MIT
"""Each interposed name, called from everywhere: each call gives the same result as in a bare run.

One row a name in every_name.h; every situation goes through all rows.  test_versions.py has the versions.
"""

import errno
import functools
import os
import re
import subprocess
from pathlib import Path
from platform import machine

import pytest

from harness import (CURING_MODES, HOOK_LIB, IS_32, LIB, MODES, PROCESSOR, ROW, SOURCE_ROOT, AnsweringPeer,
                     bare_env, compile_c, pattern, preload_env, program, run, run_client, run_judged,
                     stats_directory)
from harness.newest_libc import newest_libc

SITUATIONS = [(name, state)
              for name in ("main", "errno", "signal", "inside", "forked", "vforked", "thread", "cloned",
                           "unseen")
              for state in ("cold", "warm", "holding")]
SITUATIONS += [("early", "cold"), ("within", "warm"), ("pointers", "cold"), ("pointers", "warm"),
               ("pointers", "holding")]

# In `off` the library is asleep: a connection has no state there.
IN_MODES = [(situation, state, mode) for situation, state in SITUATIONS for mode in MODES
            if mode != "off" or state == "cold" or situation == "within"]

# Bare, too, a thread cannot be unwound before the loader has run the constructors.
NOT_EARLY = ("pthread_exit", "thrd_exit")

# On arm a 64-bit argument begins at an even register, so that the last argument is none that the table gives.
INCOMPLETE = ("preadv64v2", "pwritev64v2") if PROCESSOR == "arm" else ()

# The library acts here as in a program with one thread: after so few exchanges `auto` would hold nothing.
HOLDS_ALWAYS = ("unseen", "pointers")

# qemu-user refuses the window's thread (docs/architectures.md): nothing is held.
BY_QEMU = "UNSTALL_TESTS_QEMU" in os.environ

# Here nothing is held: a vfork child touches no state, and the library steps aside.
HOLDS_NOTHING = ("vforked", "cloned")

# So long that what is held stays held in between.
WINDOW_US = 100000


def binary(*flags):
    return compile_c(Path(__file__).with_name("every_name.c"), *flags)


def by_name(lines):
    """Name -> what was said of it."""
    found = {}
    for line in lines.splitlines():
        name, _, what = line.partition(": ")
        found.setdefault(name, []).append(what)
    return found


def command(situation, state, newest):
    argv = [binary(), situation, state]
    return newest_libc().runs(argv) if newest else argv


@functools.cache
def bare_results(situation, state, newest=False):
    without = INCOMPLETE + (NOT_EARLY if situation == "early" else ())
    found = by_name(run(command(situation, state, newest), bare_env(), timeout=30).stdout)
    return {name: lines for name, lines in found.items()
            if not lines[0].startswith("absent") and name not in without}


def differences(situation, state, env, newest=False):
    """Name -> (bare, now), of those that differ; and what was said on standard error."""
    bare = bare_results(situation, state, newest)
    done = run(command(situation, state, newest), env, timeout=60)
    now = by_name(done.stdout)
    return {name: (lines, now.get(name)) for name, lines in bare.items()
            if now.get(name) != lines}, done.stderr


def surface():
    text = (SOURCE_ROOT / "src/preload/sys/surface.def").read_text(encoding="utf-8")
    return re.findall(rf"^{ROW}\((\w+),", text, re.M)


def test_every_name_has_its_row():
    assert sorted(run([binary(), "names", "cold"], bare_env()).stdout.split()) == sorted(surface())


def test_every_pointer_is_marked():
    """Of a pointer that the table gives as NULL nothing but the mark tells."""
    text = Path(__file__).with_name("every_name.h").read_text(encoding="utf-8")
    rows = re.findall(r'^    \{"(\w+)", \w+, "([.p]*)",\s+\{(.*)\}\},$', text, re.M)
    assert {name for name, _, _ in rows} >= set(surface())
    for name, marks, arguments in rows:
        for place, argument in enumerate(re.split(r", (?![^(]*\))", arguments)):
            assert not argument.startswith("P(") or marks[place:place + 1] == "p", name


@pytest.mark.parametrize("situation, state", SITUATIONS)
def test_a_situation_goes_through_the_table(situation, state):
    """Not there are names without a pointer, and those of which a vfork child cannot make use."""
    assert len(bare_results(situation, state)) > (90 if situation == "pointers" else 100)


@pytest.mark.parametrize("situation, state, mode", IN_MODES)
def test_gives_what_it_gives_bare(situation, state, mode):
    more = {"UNSTALL_THREAD": "always"} if situation in HOLDS_ALWAYS and state == "holding" else {}
    found, said = differences(situation, state, preload_env(mode, UNSTALL_WINDOW_US=WINDOW_US, **more))
    assert found == {}
    holds = ("cork", "coalesce", "auto") if more else ("cork", "coalesce")
    if state == "holding" and mode in holds and situation not in HOLDS_NOTHING and not BY_QEMU:
        held, written = map(int, re.search(r"(\d+) of (\d+) pieces held", said).groups())
        assert held > written / 2
    if situation == "within" and PROCESSOR in ("x86", "x86_64"):
        assert "places" in said  # it was interrupted


# What a caller of the name expects where neither libc nor the kernel has it; of all others -1 and ENOSYS.
LACKING = {
    # an error number
    **dict.fromkeys(("pthread_cond_wait", "pthread_cond_timedwait", "pthread_cond_clockwait",
                     "pthread_timedjoin_np", "pthread_clockjoin_np", "pthread_sigqueue", "pidfd_spawn",
                     "pidfd_spawnp", "__clock_nanosleep_time64", "__pthread_cond_timedwait64",
                     "__pthread_cond_clockwait64", "__pthread_timedjoin_np64", "__pthread_clockjoin_np64"),
                    [f"gave {errno.ENOSYS} errno 0"]),
    # thrd_error of C11; -1 of thrd_sleep would be a signal
    **dict.fromkeys(("thrd_join", "cnd_wait", "cnd_timedwait", "thrd_create", "__cnd_timedwait64"),
                    ["gave 2 errno 0"]),
    **dict.fromkeys(("thrd_sleep", "__thrd_sleep64"), ["gave -2 errno 0"]),
    # these make a child
    **dict.fromkeys(("_Fork", "forkpty"), [f"failed -1 errno {errno.ENOSYS}"]),
    "daemon": ["ended 2304 errno 0"],  # the caller goes on, to its exit(9)
}

# They go on to another name, or do the same themselves.
LACKING_NOTHING = ("freopen64", "aio_read64", "aio_write64", "lio_listio64", "aio_suspend64", "sendfile64",
                   "fcntl64", "_longjmp", "__longjmp_chk", "quick_exit", "thrd_exit", "__poll_chk",
                   "__ppoll_chk", "__dprintf_chk", "dprintf", "eventfd_write",
                   *(["lockf64"] if IS_32 else []))

# Every libc has them, and the library stands on them.
NEVER_LACKING = ("syscall", "vfork", "__vfork")


def optional():
    text = (SOURCE_ROOT / "src/preload/sys/surface.def").read_text(encoding="utf-8")
    rows = dict(re.findall(rf"^{ROW}\((\w+), (\w+),", text, re.M))
    return {name for name in rows if rows[name] != "required" and name not in NEVER_LACKING}


def as_usual(bare):
    """Name -> what it gives, of names whose call goes on as always, and of the others at the same address:
    with a required one libc lacks none of them.  This libc may have one of them alone."""
    nm = subprocess.run(["nm", "-D", "--defined-only", LIB], check=True, capture_output=True, text=True,
                        env=bare_env()).stdout  # this machine's own, of another processor's library
    address = {name.partition("@@")[0]: place for place, _, name in map(str.split, nm.splitlines())}
    given = {address.get(name): bare[name] for name in (*LACKING_NOTHING, *set(surface()) - optional())
             if name in bare}
    found = {name: bare.get(name, given.get(address.get(name))) for name in {*optional(), "closefrom"}}
    return {name: lines for name, lines in found.items() if address.get(name) in given or name == "closefrom"}


@pytest.mark.parametrize("mode", MODES)
def test_a_name_that_libc_lacks_fails_as_its_callers_expect(mode):
    """closefrom() closed nothing, thrd_sleep() was interrupted for ever, freopen64() gave a stream at -1."""
    done = by_name(run([binary(), "lacking", "cold"], preload_env(mode, HOOK_LIB), timeout=60).stdout)
    assert done["closefrom"].pop() == "left open 0 errno 0"
    assert differences("main", "cold", preload_env(mode, HOOK_LIB))[0] == {}
    usual = as_usual(bare_results("main", "cold"))
    expected = {name: usual.get(name) or LACKING.get(name, [f"gave -1 errno {errno.ENOSYS}"])
                for name in optional()}
    assert {name: done[name] for name in expected} == expected


@pytest.mark.processors(machine())
@pytest.mark.parametrize("mode", MODES)
def test_gives_what_it_gives_bare_with_the_newest_libc(mode):
    """It has names that this machine's libc may lack."""
    assert {"pidfd_spawn", "pidfd_spawnp"} <= bare_results("main", "holding", True).keys()
    env = preload_env(mode, UNSTALL_WINDOW_US=WINDOW_US)
    assert differences("main", "holding", env, newest=True)[0] == {}


# Beyond what the bare program needs.
STACK_MOST = 2048


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("state", ["cold", "warm", "holding"])
def test_no_call_allocates_or_needs_much_stack(state, mode, tmp_path):
    """A thread's first hold allocated, for a key above the 31st, perhaps beneath malloc: a hang.  A report
    and a line of the log took 9 KB of the stack."""
    def words(lines):
        return [line for line in lines if not line.startswith("needed ")]

    def bytes_of_stack(lines):
        return [int(line.split()[1]) for line in lines if line.startswith("needed ")]

    bare = bare_results("lean", state)
    with stats_directory() as folder:
        env = preload_env(mode, UNSTALL_WINDOW_US=WINDOW_US, UNSTALL_VERBOSE=2, UNSTALL_STATS=folder,
                          UNSTALL_LOG=f"{tmp_path}/%p.log", UNSTALL_REPORT=f"{tmp_path}/%p.json")
        now = by_name(run([binary(), "lean", state], env, timeout=60).stdout)
    assert {name: words(lines) for name, lines in bare.items()} == {
        name: words(lines) for name, lines in now.items() if name in bare}
    more = {(name, i): after - before for name, lines in bare.items()
            for i, (before, after) in enumerate(zip(bytes_of_stack(lines), bytes_of_stack(now[name])))}
    assert {call: grown for call, grown in more.items() if grown > STACK_MOST} == {}
    assert len(more) > len(bare) and max(more.values()) > 0


@pytest.mark.parametrize("mode", MODES)
def test_after_our_last_destructor(mode):
    library = binary("-DAS_LIBRARY", "-shared", "-fPIC")
    does_nothing = [compile_c(Path(__file__).with_name("nothing.c"))]
    bare = run(does_nothing, bare_env(LD_PRELOAD=library)).stdout
    env = preload_env(mode, LD_DEBUG="files")
    env["LD_PRELOAD"] += f":{library}"
    done = run(does_nothing, env)
    expected = {name: lines for name, lines in by_name(bare).items() if not lines[0].startswith("absent")}
    assert {name: lines for name, lines in by_name(done.stdout).items() if name in expected} == expected
    assert len(expected) > 100
    ended = [Path(path).name for path in re.findall(r"calling fini: (\S+)", done.stderr)]
    assert ended.index(LIB.name) < ended.index(library.name)


def test_a_difference_is_found():
    """A library that answers one call otherwise."""
    liar = compile_c(Path(__file__).with_name("every_name_liar.c"), "-shared", "-fPIC")
    found, _ = differences("main", "cold", bare_env(LD_PRELOAD=liar))
    assert list(found) == ["flock"]


@pytest.mark.parametrize("mode", CURING_MODES)
def test_exchanges_before_our_own_init(mode):
    assert not run_judged(program("early_exchanges"), mode, 15).stalls


@pytest.mark.parametrize("mode", CURING_MODES)
def test_exchanges_from_a_signal_handler_within_others(mode):
    with AnsweringPeer() as peer:
        done = run_client(program("handler_exchanges"), mode, *peer.target, 1000, timeout=20)
    own, handlers = peer.connections
    assert bytes(own.received) == pattern(1000 * 300)
    assert bytes(handlers.received) == pattern(done.facts["handled"] * 300)
    assert not done.stalls
