# SPDX-License-Identifier: MIT
"""Each interposed name, called from everywhere: what it gives is what it gives in a bare run."""

import re
from pathlib import Path

import pytest

from harness import (CURING_MODES, MODES, SOURCE_ROOT, AnsweringPeer, bare_env, compile_c, pattern, preload_env,
                     program, run, run_client)

SITUATIONS = ("main", "early", "signal", "inside", "forked", "thread")

# Bare, too, a thread cannot be unwound before the loader has run the constructors.
NOT_EARLY = ("pthread_exit", "thrd_exit")


@pytest.fixture(scope="module")
def every_name():
    return compile_c(Path(__file__).with_name("every_name.c"))


def results(binary, situation, env):
    """Name -> lines."""
    found = {}
    for line in run([binary, situation], env, timeout=30).stdout.splitlines():
        name, _, what = line.partition(": ")
        if situation != "early" or name not in NOT_EARLY:
            found.setdefault(name, []).append(what)
    return found


def test_the_program_has_every_name(every_name):
    names = run([every_name, "names"], bare_env()).stdout.split()
    surface = (SOURCE_ROOT / "src/preload/surface.def").read_text(encoding="utf-8")
    written = re.findall(r"^ROW\((\w+),", surface, re.M)
    assert sorted(names) == sorted(written)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("situation", SITUATIONS)
def test_gives_what_it_gives_bare(every_name, situation, mode):
    bare = results(every_name, situation, bare_env())
    other = results(every_name, situation, preload_env(mode))
    present = {name: lines for name, lines in bare.items() if not lines[0].startswith("absent")}
    assert len(present) > 100
    assert {name: other.get(name) for name in present} == present


@pytest.mark.parametrize("mode", CURING_MODES)
def test_exchanges_before_our_own_init(mode):
    with AnsweringPeer() as peer:
        done = run_client(program("early_exchanges"), mode, *peer.target, 15)
    assert bytes(peer.connections[0].received) == pattern(15 * 300)
    assert done.median_ms < 5


@pytest.mark.parametrize("mode", CURING_MODES)
def test_exchanges_from_a_signal_handler_within_others(mode):
    with AnsweringPeer() as peer:
        done = run_client(program("handler_exchanges"), mode, *peer.target, 1000, timeout=20)
    own, handlers = peer.connections
    assert bytes(own.received) == pattern(1000 * 300)
    assert bytes(handlers.received) == pattern(done.facts["handled"] * 300)
    assert done.median_ms < 5
