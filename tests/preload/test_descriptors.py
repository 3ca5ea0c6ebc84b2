# SPDX-License-Identifier: MIT
"""Numbers are reused, moved and high: the state of a connection never touches the next
owner of its number."""

import resource

import pytest

from harness import (BEGIN, CURING_MODES, END, MODES, AnsweringPeer, judged, mode_env, pattern, program,
                     run_client, run_judged, run_strace)

ENDS = ("close", "__close", "dup2", "__dup2", "dup3", "close_range", "closefrom", "syscall_close", "raw")
SUCCESSORS = ("file", "pipe", "unix", "udp", "tcp")
HOLDING = ("cork", "coalesce", "auto")

# The library saw neither the end nor the creation.  A held write meets ENOTSOCK on a file or a pipe and then
# goes plain; coalesce asks for the number's connection before it buffers.  No error tells us of a UDP socket
# (MSG_MORE joins its datagrams): the documented limit of unseen creations.
NOT_PROMISED = {("raw", "udp", mode) for mode in ("cork", "auto")}

# The other modes hold nothing: one end that the library sees, and one that it does not.
REUSES = [(how, what, mode) for how in ENDS for what in SUCCESSORS for mode in ("bare", *MODES)
          if (mode in HOLDING or how in ("close", "raw")) and (how, what, mode) not in NOT_PROMISED]


def check_last_message(peer, how):
    """Four answered messages, and the last one, which was still under way when the number ended."""
    messages = 4 if how == "raw" else 5
    assert bytes(peer.connections[0].received) == pattern(messages * 300)


@pytest.mark.parametrize("how, what, mode", REUSES)
def test_a_reused_number(how, what, mode):
    def measure():
        with AnsweringPeer() as peer, AnsweringPeer() as second:
            done = run_client(program("reborn"), mode, *peer.target, how, what, *second.target, timeout=20)
        check_last_message(peer, how)
        if what == "tcp":
            assert bytes(second.connections[0].received) == pattern(16 * 300)
        return done

    if what == "tcp" and mode in CURING_MODES and how != "raw":
        assert not judged(measure, True).stalls
    else:
        measure()


@pytest.mark.parametrize("mode", CURING_MODES)
@pytest.mark.parametrize("what", ["file", "pipe", "unix", "udp"])
@pytest.mark.parametrize("how", ["close", "dup2", "close_range", "syscall_close"])
def test_a_reused_number_gets_plain_writes(how, what, mode):
    with AnsweringPeer() as peer, AnsweringPeer() as second:
        trace = run_strace([program("reborn"), *peer.target, how, what, *second.target], mode_env(mode))
    calls = [call for call in trace.between(BEGIN, END) if call.fd == 3]
    assert [call.name for call in calls if call.name != "getsockopt"] == ["write", "write"]
    assert len(calls) <= 3, "at most one query of a descriptor whose creation was unseen"


@pytest.mark.parametrize("number", [1023, 1024, 1500, 4096, 19999, 500000, 0])
@pytest.mark.parametrize("mode", ["bare", *MODES])
def test_moved_to_a_high_number(mode, number):
    """0: as high as the hard limit allows, for root 1 048 575."""
    done = run_judged(program("dup2_away"), mode, 16, 0, number)
    assert done.facts["number"] >= min(number, 4095)
    if mode in CURING_MODES:
        assert not done.stalls


@pytest.mark.parametrize("mode", ["bare", *MODES])
def test_many_connections(mode):
    allowed = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (allowed[1], allowed[1]))  # the peer's ends are ours

    def measure():
        with AnsweringPeer() as peer:
            done = run_client(program("many_connections"), mode, *peer.target)
        for connection in peer.connections:
            assert bytes(connection.received) in (b"", pattern(4 * 300))
        return done

    if mode in CURING_MODES:
        assert not judged(measure, True).stalls
    else:
        measure()
