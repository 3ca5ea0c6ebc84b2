# SPDX-License-Identifier: MIT
"""Each interposed name, called from everywhere: each call gives the same result as in a bare run.

One row a name in every_name.h; every situation goes through all rows.  test_versions.py has the versions.
"""

import functools
import os
import re
from pathlib import Path

import pytest

from harness import (CURING_MODES, LIB, MODES, PROCESSOR, ROW, SOURCE_ROOT, AnsweringPeer, bare_env,
                     compile_c, judged, pattern, preload_env, program, run, run_client)

SITUATIONS = [(name, state)
              for name in ("main", "errno", "signal", "inside", "forked", "vforked", "thread", "cloned",
                           "unseen")
              for state in ("cold", "warm", "holding")]
SITUATIONS += [("early", "cold"), ("within", "warm"), ("pointers", "cold"), ("pointers", "warm"),
               ("pointers", "holding")]

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


@functools.cache
def bare_results(situation, state):
    without = INCOMPLETE + (NOT_EARLY if situation == "early" else ())
    found = by_name(run([binary(), situation, state], bare_env(), timeout=30).stdout)
    return {name: lines for name, lines in found.items()
            if not lines[0].startswith("absent") and name not in without}


def differences(situation, state, env):
    """Name -> (bare, now), of those that differ; and what was said on standard error."""
    bare = bare_results(situation, state)
    done = run([binary(), situation, state], env, timeout=60)
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


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("situation, state", SITUATIONS)
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
    def measure():
        with AnsweringPeer() as peer:
            done = run_client(program("early_exchanges"), mode, *peer.target, 15)
        assert bytes(peer.connections[0].received) == pattern(15 * 300)
        return done

    assert not judged(measure, True).stalls


@pytest.mark.parametrize("mode", CURING_MODES)
def test_exchanges_from_a_signal_handler_within_others(mode):
    with AnsweringPeer() as peer:
        done = run_client(program("handler_exchanges"), mode, *peer.target, 1000, timeout=20)
    own, handlers = peer.connections
    assert bytes(own.received) == pattern(1000 * 300)
    assert bytes(handlers.received) == pattern(done.facts["handled"] * 300)
    assert not done.stalls
