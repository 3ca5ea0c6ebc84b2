# SPDX-License-Identifier: MIT
"""Connections of other kinds: mapped addresses, TCP Fast Open, socket activation."""

import json
import os
import socket
import statistics
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from clients import EXCHANGES, binary, checking_peer
from harness import (CURING_MODES, MODES, STALL_MS, WARM, bare_env, judged, least, mode_env, pattern,
                     request_all, run_client, skip, spawned)

ALL = ("bare", *MODES)
MAPPED = "::ffff:127.0.0.1"


def client_stalls(mode, name, address, *more, cured=None, **variables):
    """Whether a client program stalls; it shall not where `cured`, by default in the modes that cure."""
    def measure():
        with checking_peer() as peer:
            return run_client(binary(name), mode, address, peer.port, EXCHANGES, *more, **variables)

    return judged(measure, mode in CURING_MODES if cured is None else cured).stalls


# ---- IPv4-mapped addresses -------------------------------------------------


@pytest.mark.parametrize("mode", ALL)
def test_mapped_address(mode):
    assert client_stalls(mode, "put_write", MAPPED) is (mode not in CURING_MODES)


@pytest.mark.parametrize("peers, cured", [
    ("127.0.0.0/8", True), ("!127.0.0.0/8", False), ("::1", False), ("10.0.0.0/8", False), ("!::1", True),
])
def test_filters_know_a_mapped_address_as_the_ipv4_one(peers, cured):
    assert client_stalls("auto", "put_write", MAPPED, cured=cured, UNSTALL_PEERS=peers) is not cured


# ---- TCP Fast Open ---------------------------------------------------------

@pytest.mark.parametrize("mode", ALL)
@pytest.mark.parametrize("how", ["sendto", "option"])
def test_fast_open_where_the_server_does_not_take_it(how, mode):
    """The system's own setting: the kernel falls back to a plain handshake."""
    assert client_stalls(mode, "fast_open", "127.0.0.1", 0, how) is (mode not in CURING_MODES)


@pytest.mark.parametrize("mode", ALL)
@pytest.mark.parametrize("how", ["sendto", "option"])
def test_fast_open(how, mode):
    """In a network namespace of its own, where the server may take data with the SYN."""
    room = ["unshare", "--net", *([] if os.geteuid() == 0 else ["--map-root-user"]), "--"]
    if subprocess.run([*room, "true"], check=False, capture_output=True).returncode != 0:
        skip("no network namespace to be had")
    script = Path(__file__).parent / "fast_open_room.py"
    env = {**bare_env(), **{name: value for name, value in os.environ.items() if name.startswith("UNSTALL_")}}

    def median_ms():
        done = subprocess.run([*room, sys.executable, "-B", script, binary("fast_open"), how, mode], env=env,
                              timeout=60, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        seen = json.loads(done.stdout)
        assert seen["received"].encode() == pattern(EXCHANGES * 300)
        assert seen["facts"]["fast"] and seen["facts"]["loaded"] is (mode != "bare")
        return statistics.median(seen["facts"]["us"][WARM:]) / 1000

    cured = mode in CURING_MODES
    assert ((least(median_ms, STALL_MS) if cured else median_ms()) < STALL_MS) is cured


# ---- socket activation -----------------------------------------------------

@contextmanager
def activated(mode, sock, what):
    """Start the service as systemd does: `sock` as descriptor 3, LISTEN_FDS and LISTEN_PID set."""
    script = 'exec 3<&"$1"; shift; export LISTEN_FDS=1 LISTEN_PID=$$; exec "$@"'
    if sock.fileno() == 3:
        script = 'shift; export LISTEN_FDS=1 LISTEN_PID=$$; exec "$@"'
    window = {"UNSTALL_THREAD": "always"} if what == "unseen" else {}
    with spawned(["/bin/bash", "-c", script, "bash", str(sock.fileno()), binary("activated"), what],
                 mode_env(mode, **window), pass_fds=[sock.fileno()], stdin=subprocess.DEVNULL,
                 stdout=subprocess.PIPE) as service:
        yield service
        assert service.stdout.read() == ("bare\n" if mode == "bare" else "loaded\n")
        assert service.wait(10) == 0


@pytest.mark.parametrize("mode", ALL)
def test_inherited_listener(mode):
    def measure():
        with socket.create_server(("127.0.0.1", 0)) as listener:
            with activated(mode, listener, "listener"):
                seen = request_all(listener.getsockname()[1], EXCHANGES)
        assert bytes(seen.received) == pattern(EXCHANGES * 300)
        return seen

    cured = mode in CURING_MODES
    assert judged(measure, cured).stalls is not cured


@pytest.mark.parametrize("mode", ALL)
@pytest.mark.parametrize("what", ["connection", "unseen"])
def test_inherited_connection(what, mode):
    """Accept=yes: each connection starts a service of its own.

    Unseen: its first hold was begun before the window's thread was, and nothing ended it. (The test asks for
    that thread: without it cork holds bytes without a later visible call as long as the kernel does.)
    """
    def median_ms():
        with socket.create_server(("127.0.0.1", 0)) as listener:
            client = socket.create_connection(listener.getsockname(), timeout=20)
            server, _ = listener.accept()
        with client, server, activated(mode, server, what):
            server.close()
            times, received = [], bytearray()
            for _ in range(EXCHANGES):
                begin = time.monotonic()
                client.sendall(b"q" * 50)
                while len(received) < 300 * (len(times) + 1):
                    received += client.recv(300)
                times.append((time.monotonic() - begin) * 1000)
            client.shutdown(socket.SHUT_WR)
        assert bytes(received) == pattern(EXCHANGES * 300)
        return statistics.median(times[WARM:])
    if mode in CURING_MODES:
        assert least(median_ms, STALL_MS) < STALL_MS
    else:
        assert median_ms() >= STALL_MS
