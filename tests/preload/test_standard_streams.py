# SPDX-License-Identifier: MIT
"""Descriptors 0 to 2 are stdio's: the library does not see the writes there."""

import socket

import pytest

from harness import CURING_MODES, MODES, mode_env, pattern, program, run, run_judged

EXCHANGES = 12
WAYS = ("dup2", "dup3", "dup", "fcntl", "socket", "accept", "accept unseen")


@pytest.mark.parametrize("mode", ["bare", *MODES])
@pytest.mark.parametrize("how", WAYS)
def test_a_connection_becomes_standard_output(how, mode):
    """coalesce reversed the order of the bytes, and every mode stalled: stdio's own writes pass by us."""
    done = run_judged(program("stdio_by_number"), mode, EXCHANGES, 0, how)
    assert done.stalls is (mode not in CURING_MODES)
    assert done.facts["nodelay"] == 0


def nodelay(sock):
    return sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


@pytest.mark.parametrize("mode", MODES)
def test_an_inherited_listener_is_left_alone(mode):
    """TCP_NODELAY=1 was set on it and stayed: all that its owner accepted from then on had it."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        run(["/bin/true"], mode_env(mode), stdin=listener)
        assert nodelay(listener) == 0


@pytest.mark.parametrize("mode", MODES)
def test_an_inherited_connection_goes_back_as_it_came(mode):
    """TCP_NODELAY=1 stayed on it."""
    with socket.create_server(("127.0.0.1", 0)) as listener, \
            socket.create_connection(listener.getsockname()) as connection:
        run(["/bin/true"], mode_env(mode), stdin=connection)
        assert nodelay(connection) == 0


@pytest.mark.parametrize("mode, nodelay_after", [("auto", 1), ("off", 0)])
def test_an_inherited_connection_stays_cured_for_a_child_that_writes_on(mode, nodelay_after):
    with socket.create_server(("127.0.0.1", 0)) as listener, \
            socket.create_connection(listener.getsockname()) as connection:
        run(["/bin/sh", "-c", "(read -r line) & exit 0"], mode_env(mode), stdin=connection)
        assert nodelay(connection) == nodelay_after


@pytest.mark.parametrize("mode", CURING_MODES)
@pytest.mark.parametrize("how", ["posix_spawn", "popen", "fork"])
def test_a_child_that_gives_the_connection_back_brings_no_stall(how, mode):
    """At its end it set TCP_NODELAY back, which its parent had set meanwhile and took for set."""
    assert not run_judged(program("was_inherited_by_child"), mode, EXCHANGES, 0, how,
                          received=pattern(9 * 300) + pattern(EXCHANGES * 300)).stalls
