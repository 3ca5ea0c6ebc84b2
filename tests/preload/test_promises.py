# SPDX-License-Identifier: MIT
"""Connections share no lock, a cancelled reader keeps none, and who waits for a reader holds nothing."""

import json

import pytest

from harness import LIB, MODES, AnsweringPeer, bare_env, least, patiently, program, run, run_judged

HOLDING = ("cork", "coalesce", "auto")


@pytest.mark.parametrize("mode", HOLDING)
@pytest.mark.parametrize("how", ["BY_SYSCALL", "BY_CONDITION"])
def test_a_writer_that_waits_for_its_reader_holds_nothing(how, mode):
    """tiny_http in Rust: 2.15 ms an answer in coalesce, by the window, where it is 0.27 with TCP_NODELAY."""
    assert not run_judged(program("reader_thread", f"-D{how}"), mode, 12, UNSTALL_WINDOW_US=100000).stalls


DELAY_US = 600000


def run_delayed(calls, name, mode, *arguments, trace, **variables):
    """Run a program in which each of these system calls takes DELAY_US; gives its facts."""
    env = {"LD_PRELOAD": LIB, "UNSTALL_MODE": mode, **variables}
    with AnsweringPeer() as peer:
        done = run(["strace", "-f", "-qq", "-o", trace, *(f"-E{name}={value}" for name, value in env.items()),
                    "-e", f"trace={calls}", "-e", f"inject={calls}:delay_enter={DELAY_US}", program(name),
                    *peer.target, *arguments], bare_env(), timeout=60)
    facts = json.loads(done.stdout.splitlines()[-1])
    assert facts["loaded"]
    return facts


# In cork and coalesce every exchange of both connections has such a call.
@pytest.mark.parametrize("mode", ["nodelay", "auto"])
def test_no_lock_is_shared_between_connections(mode, tmp_path):
    """The library's calls under one connection's lock take 600 ms here: another connection goes on."""
    def waits():
        """Whether it waits.  On a busy machine a window ends in it, too, which takes another 600 ms."""
        facts = run_delayed("setsockopt,getsockopt", "apart", mode, 20, trace=tmp_path / "trace")
        assert facts["burst_us"] >= DELAY_US
        return facts["meanwhile"] < 3

    assert not least(waits, True)


@pytest.mark.parametrize("mode", [mode for mode in MODES if mode != "off"])
def test_a_reader_that_is_cancelled_inside_the_lock_gives_it_back(mode, tmp_path):
    patiently(lambda: run_delayed("setsockopt", "cancelled_in_lock", mode, 1, trace=tmp_path / "trace",
                                  UNSTALL_QUICKACK="always"))
