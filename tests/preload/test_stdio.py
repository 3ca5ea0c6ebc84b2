# SPDX-License-Identifier: MIT
"""A socket that stdio owns, or a dup of it: TCP_NODELAY cures, nothing is held, the order is kept."""

import pytest

from harness import (BEGIN, CURING_MODES, END, MODES, AnsweringPeer, mode_env, pattern, program, run,
                     run_judged, run_strace)

EXCHANGES = 12

# stdio writes each half itself.
OWNED = ("stdio_two_files", "stdio_on_socket")
# Some halves pass by us, others do not.
MIXED = ("stdio_late", "stdio_dprintf", "stdio_write_dprintf")


def peer_with_lines():
    return AnsweringPeer(reply=b"r" * 199 + b"\n")


@pytest.mark.parametrize("mode", ["bare", *CURING_MODES])
@pytest.mark.parametrize("name", [*OWNED, *MIXED])
def test_is_cured_in_order(name, mode):
    assert run_judged(program(name), mode, EXCHANGES, peer=peer_with_lines).stalls is (mode == "bare")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", OWNED)
def test_nothing_is_held(name, mode):
    with peer_with_lines() as peer:
        trace = run_strace([program(name), *peer.target, EXCHANGES], mode_env(mode))
    calls = trace.between(BEGIN, END)
    assert not [str(call) for call in calls if call.has("MSG_MORE")]
    assert len(trace.pids) == 1, "the window's thread was started though nothing may be held"
    written = sum(call.ret for call in calls if call.name == "write" and call.fd in (3, 4, 5))
    assert written == EXCHANGES * 300


@pytest.mark.parametrize("mode", MODES)
def test_nothing_is_held_once_stdio_has_a_dup(mode):
    with peer_with_lines() as peer:
        trace = run_strace([program("stdio_late"), *peer.target, EXCHANGES], mode_env(mode))
    for index in range(1, EXCHANGES - 4):
        assert not [call for call in trace.between(index, index + 1) if call.has("MSG_MORE")]


@pytest.mark.parametrize("mode", ["bare", *MODES])
def test_fclose_flushes_in_order_and_frees_the_number(mode):
    with peer_with_lines() as peer:
        run([program("stdio_fclose"), *peer.target], mode_env(mode))
    assert bytes(peer.connections[0].received) == pattern(4 * 300)
