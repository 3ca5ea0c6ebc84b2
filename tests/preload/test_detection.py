# SPDX-License-Identifier: MIT
"""The pattern is found and cured however the program goes about it, in each curing mode."""

import os
import socket

import pytest

from harness import (CURING_MODES, STALL_MS, WIDE, AnsweringPeer, judged, patiently, pattern, program,
                     read_reports, report_pattern, request_all, run_client, run_judged, run_with_peer, skip,
                     started_server, total)

EXCHANGES = 12
BARE_OR_CURED = ("bare", *CURING_MODES)

CLIENTS = (
    "between_poll", "between_poll_writable", "between_select", "between_epoll", "between_sleep",
    "between_poll_zero", "between_file_write", "between_pipe_write", "reader_thread",
    "write_to_dup", "header_to_dup", "two_writers", "child_exchanges", "child_writes_body",
)

SERVERS = ("server_accept", "server_accept4", "server_syscall_accept", "server_fork", "server_thread",
           "server_prefork", "server_inetd")

# The address family of the peer.
MPTCP = getattr(socket, "IPPROTO_MPTCP", 262)
FAMILIES = {
    "ipv4": {"address": "127.0.0.1"},
    "ipv6": {"address": "::1"},
    "mptcp": {"address": "127.0.0.1", "protocol": MPTCP},
}


def is_possible(family):
    """Skips where the kernel lacks MPTCP."""
    if family == "mptcp":
        try:
            socket.socket(socket.AF_INET, socket.SOCK_STREAM, MPTCP).close()
        except OSError as error:
            skip(f"no MPTCP in this kernel: {error}")


def check_bytes(peer, exchanges=EXCHANGES):
    (connection,) = peer.connections
    assert bytes(connection.received) == pattern(exchanges * 300)


# ---- clients ---------------------------------------------------------------

@pytest.mark.parametrize("mode", BARE_OR_CURED)
@pytest.mark.parametrize("name", CLIENTS)
def test_client_is_cured(name, mode):
    assert run_judged(program(name), mode, EXCHANGES).stalls is (mode == "bare")


@pytest.mark.parametrize("mode", BARE_OR_CURED)
def test_a_small_write_behind_a_large_one(mode):
    """The tail of the large one is a small segment too: bare, exchanges stall, on a busy machine not most."""
    stalls_only_bare(mode, "large_then_small", 66100)


@pytest.mark.parametrize("mode", BARE_OR_CURED)
def test_a_small_write_behind_segments_with_its_msg_more(mode):
    """The library took both for one unit, and no mode cured it."""
    stalls_only_bare(mode, "segments_then_small", 4100)


@pytest.mark.parametrize("mode", BARE_OR_CURED)
def test_a_body_below_the_mss_that_has_grown(mode):
    """The MSS was asked once, when it was half of loopback's: auto and nodelay never cured this."""
    stalls_only_bare(mode, "body_of_40000", 40200)


def stalls_only_bare(mode, name, request):
    def measure():
        with AnsweringPeer(request=request) as peer:
            return run_client(program(name), mode, *peer.target, EXCHANGES)

    def some_stall():
        assert sum(us > STALL_MS * 1000 for us in measure().facts["us"]) >= 3

    if mode == "bare":
        patiently(some_stall)
    else:
        assert not judged(measure, True).stalls


@pytest.mark.parametrize("name", [name for name in CLIENTS if name != "child_writes_body"])
def test_client_is_detected(name, tmp_path):
    """observe counts a burst for each message, though it changes nothing."""
    run_with_peer(name, "observe", EXCHANGES, UNSTALL_REPORT=report_pattern(tmp_path))
    reports = read_reports(tmp_path)
    assert total(reports, "bursts") >= EXCHANGES - 1


@pytest.mark.parametrize("mode", ["cork", "coalesce", "auto"])
@pytest.mark.parametrize("name", ["between_poll_zero", "between_file_write"])
def test_what_is_no_wait_leaves_the_turn_whole(name, mode):
    with AnsweringPeer() as peer:
        done = run_client(program(name), mode, *peer.target, EXCHANGES, **WIDE)
    check_bytes(peer)
    assert done.segments <= 1.25


# ---- families --------------------------------------------------------------

def run_family(family, name, mode):
    is_possible(family)
    where = FAMILIES[family]
    return run_judged(program(name), mode, EXCHANGES, where.get("protocol", 0),
                      peer=lambda: AnsweringPeer(**where))


@pytest.mark.parametrize("family", FAMILIES)
def test_bare_family_stalls(family):
    assert run_family(family, "put_write", "bare").stalls


@pytest.mark.parametrize("mode", CURING_MODES)
@pytest.mark.parametrize("name", ["put_write", "put_writev", "put_sendmsg", "between_select",
                                  "many_small_writes", "body_sendfile"])
@pytest.mark.parametrize("family", FAMILIES)
def test_family_is_cured(family, name, mode):
    assert not run_family(family, name, mode).stalls


# ---- sockets that the library did not see created ------------------------

def run_inherited(number, mode):
    """Run `inherited` with a connection as its descriptor `number`."""
    def measure():
        with AnsweringPeer() as peer:
            with socket.create_connection((peer.address, peer.port)) as sock:
                if number == 0:
                    done = run_client(program("inherited"), mode, 0, EXCHANGES, stdin=sock)
                else:
                    done = run_client(program("inherited"), mode, number, EXCHANGES, close_fds=False,
                                      preexec_fn=lambda: os.dup2(sock.fileno(), number))
            check_bytes(peer)
        return done

    return judged(measure, mode in CURING_MODES)


@pytest.mark.parametrize("mode", BARE_OR_CURED)
@pytest.mark.parametrize("number", [0, 7])
def test_inherited_connection_is_cured(number, mode):
    assert run_inherited(number, mode).stalls is (mode == "bare")


@pytest.mark.parametrize("number", [0, 2])
def test_inherited_as_standard_descriptor_is_never_held(number):
    """Descriptors 0 to 2 are untracked: stdio or a shell may write there unseen.  TCP_NODELAY, no hold."""
    done = run_inherited(number, "auto")
    assert not done.stalls and done.segments == 2


def run_received(mode):
    """Run `received` and send it a connection over its Unix socket."""
    def measure():
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        with AnsweringPeer() as peer, ours, theirs:
            with socket.create_connection((peer.address, peer.port)) as sock:
                socket.send_fds(ours, [b"x"], [sock.fileno()])
            done = run_client(program("received"), mode, EXCHANGES, stdin=theirs)
            check_bytes(peer)
        return done

    return judged(measure, mode in CURING_MODES)


@pytest.mark.parametrize("mode", BARE_OR_CURED)
def test_received_connection_is_cured(mode):
    assert run_received(mode).stalls is (mode == "bare")


# ---- servers ---------------------------------------------------------------

def run_server(name, mode, *arguments, **variables):
    def measure():
        with started_server([program(name), *arguments], mode, **variables) as (_, port):
            seen = request_all(port, EXCHANGES)
        assert bytes(seen.received) == pattern(EXCHANGES * 300)
        return seen

    return judged(measure, mode in CURING_MODES)


@pytest.mark.parametrize("mode", BARE_OR_CURED)
@pytest.mark.parametrize("name", SERVERS)
def test_server_is_cured(name, mode):
    assert run_server(name, mode).stalls is (mode == "bare")


@pytest.mark.parametrize("name, segments", [
    (("server_accept",), 1), (("server_prefork",), 1),  # in its buffer
    (("server_fork",), 1), (("server_inetd", 3), 1),  # another process has it: in the kernel
    (("server_inetd",), 2),  # stdio's: TCP_NODELAY
])
def test_coalesce_joins_an_answer_wherever_the_connection_comes_from(name, segments):
    def attempt():
        assert run_server(*name[:1], "coalesce", *name[1:], **WIDE).segments == segments

    patiently(attempt)  # on a busy machine the window may end a hold
