# SPDX-License-Identifier: MIT
"""unstall attach: what mode proof leaves alone and gives back, and the receiving side."""

import subprocess
import sys
from pathlib import Path

import pytest
from attachments import ACTOR, attached
from unreached import TRIES, stalls, talking, talking_to_a_process

from harness import STALL_MS, patiently, spawned

STREAM = Path(__file__).parent / "programs/stream.py"


@pytest.mark.parametrize("kind", ["single", "lost"])
def test_a_running_connection_that_does_not_stall_is_left_alone(kind):
    """The bug: connections that existed were cured at once, because their callback was not armed (a wrong
    number of TCP_BPF_SOCK_OPS_CB_FLAGS)."""
    with spawned([sys.executable, "-S", ACTOR, kind, "3"], stdout=subprocess.PIPE) as actor:
        assert actor.stdout.readline().startswith("port")
        with attached(actor.pid, "--mode", "proof") as a:
            assert actor.stdout.readline()
            a.wait()
        assert "put back; 0 connections had been cured" in a.said


@pytest.mark.parametrize("mode, how", [
    ("proof", range(40)),
    pytest.param("always", range(70, 101), marks=pytest.mark.unstarved),  # a segment sent again counts
])
def test_a_stream_of_small_writes_has_nagles_algorithm_except_in_mode_always(mode, how):
    """The segments of 100 writes of 20 bytes to a peer that reads seldom: 6 bare, 100 with TCP_NODELAY."""
    def attempt():
        with spawned([sys.executable, "-S", STREAM, "1.5"], stdout=subprocess.PIPE) as stream:
            assert stream.stdout.readline().startswith("port")
            with attached(stream.pid, "--mode", mode) as a:
                told = stream.communicate(timeout=60)[0].split()
                a.wait()
            assert told[0] == "stream" and "put back; 0 connections" not in a.said
            assert sorted(map(int, told[2:]))[5] in how
    patiently(attempt, 3)  # a busy machine may attach late, or write as seldom as the peer reads


@pytest.mark.parametrize("mode, stalled", [("proof", range(4, 20)), ("always", range(3))])
def test_mode_always_comes_before_the_first_stall_of_a_connection(mode, stalled):
    """Each of six connections stalls once in mode proof."""
    def attempt():
        begin = len(talker.told)
        for _ in range(6):
            talker.say("new")
            talker.next()
        assert sum(took > STALL_MS for took, _ in talker.told[begin:]) in stalled

    with talking() as talker, attached(talker.pid, "--mode", mode):
        patiently(attempt)  # a busy machine delays an exchange as much as a stall


def test_quickack_cures_the_receiving_side():
    """The stalling sender is not attached.  Two ticks are 8 ms with HZ=250, and the exchange takes 12."""
    with talking_to_a_process() as (talker, peer):
        with attached(peer, "--mode", "proof"):
            assert stalls(talker)
        with attached(peer, "--mode", "proof", "--quickack") as a:
            assert "acknowledgements after two ticks" in a.said
            assert any(talker.median() < STALL_MS for _ in range(TRIES))
            talker.say("new")
            assert any(talker.median() < STALL_MS for _ in range(TRIES))
            assert a.end() == 0
        assert "acknowledgements of 2 connections" in a.said
        assert stalls(talker)
