# SPDX-License-Identifier: MIT
"""unstall attach and MPTCP: it is cured by its cgroup, and by its process, which made the socket of MPTCP
only: the kernel makes the TCP connections below."""

import contextlib
import os
import re
import socket
import statistics
import subprocess
import sys
import time
from pathlib import Path

import pytest
from attachments import attached

from harness import COMMAND, STALL_MS, bare_env, cgroup, skip

sys.path.insert(0, str(Path(__file__).parents[1] / "experiments"))

from trial import EVEN, measured  # noqa: E402

MPTCP = Path("/proc/sys/net/mptcp/enabled")
TRIES = 5

# Both ends in one process; for each line the median of some exchanges in ms, and TCP_NODELAY as it reads it.
# "new" makes a new listener and a new connection first.
TALKER = """
import socket, statistics, sys, threading, time
def made():
    return socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262)
def answer(far):
    while far.recv(300, socket.MSG_WAITALL):
        far.sendall(b"r" * 200)
def connection():
    listener, near = made(), made()
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    near.connect(listener.getsockname())
    threading.Thread(target=answer, args=(listener.accept()[0],), daemon=True).start()
    return near
def exchange():
    begin = time.monotonic()
    near.send(b"p" * 200)
    near.send(b"p" * 100)
    near.recv(200)
    return (time.monotonic() - begin) * 1000
near = connection()
for line in sys.stdin:
    near = connection() if line == "new\\n" else near
    print(statistics.median(exchange() for _ in range(15)),
          near.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY), flush=True)
"""


@pytest.fixture(autouse=True)
def mptcp_is_there():
    if not MPTCP.exists() or MPTCP.read_text("ascii") != "1\n":
        skip("the kernel has no MPTCP")


class Talker:
    """It, and its exchanges."""

    def __init__(self, before=None):
        self.process = subprocess.Popen([sys.executable, "-S", "-c", TALKER], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True, bufsize=1, preexec_fn=before)

    def median(self, word=""):
        self.process.stdin.write(f"{word}\n")
        ms, reads_back = self.process.stdout.readline().split()
        assert reads_back == "0"
        return float(ms)

    def stalls(self):
        return any(self.median() > STALL_MS for _ in range(TRIES))

    def is_cured(self):
        return any(self.median() < STALL_MS for _ in range(TRIES))


@contextlib.contextmanager
def talking(before=None):
    talker = Talker(before)
    try:
        yield talker
    finally:
        talker.process.kill()
        talker.process.communicate()


@pytest.mark.parametrize("mode", ["always", "proof"])
def test_in_its_cgroup_it_is_cured_and_put_back(mode):
    with cgroup(f"unstall-{os.getpid()}") as (folder, enter), talking(enter) as talker:
        assert talker.stalls()
        with attached("--cgroup", folder, "--mode", mode) as a:
            assert talker.is_cured()
            assert a.end() == 0
        assert "MPTCP" not in a.said
        assert talker.stalls()


@pytest.mark.parametrize("mode", ["always", "proof"])
def test_by_its_process_it_is_cured_and_put_back(mode):
    """It was not reached: nothing was cured, and a sentence named --port."""
    with talking() as talker:
        assert talker.stalls()
        with attached(talker.process.pid, "--mode", mode) as a:
            assert talker.is_cured()
            talker.median("new")
            assert talker.is_cured()
            assert a.end() == 0
        assert "MPTCP" not in a.said
        assert talker.stalls()


# A server that listens by MPTCP, as those in Go do, and answers in two pieces.  What it accepts from a client
# of TCP is a socket of TCP.
SERVER = """
import socket, sys, threading
def answer(client):
    while client.recv(100):
        client.sendall(b"h" * 200)
        client.sendall(b"b" * 100)
def serve():
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262)
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    print(listener.getsockname()[1], flush=True)
    while True:
        threading.Thread(target=answer, args=(listener.accept()[0],), daemon=True).start()
for _ in sys.stdin:
    threading.Thread(target=serve, daemon=True).start()
"""


def asked(client):
    """The median of some exchanges, in ms."""
    def exchange():
        begin = time.monotonic()
        client.sendall(b"q" * 50)
        got = 0
        while got < 300:
            got += len(client.recv(300))
        return (time.monotonic() - begin) * 1000
    return statistics.median(exchange() for _ in range(15))


def connected(port):
    return socket.create_connection(("127.0.0.1", port))


class Server:
    """It, with a new listener for each port."""

    def __init__(self):
        self.process = subprocess.Popen([sys.executable, "-S", "-c", SERVER], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True, bufsize=1)
        self.pid = self.process.pid

    def port(self):
        self.process.stdin.write("\n")
        return int(self.process.stdout.readline())


@pytest.fixture(name="server")
def a_server():
    server = Server()
    yield server
    server.process.kill()
    server.process.communicate()


def test_what_a_server_accepts_later_is_cured_too(server):
    """Of a server in Go only the connections that were there had been cured."""
    first = server.port()
    with connected(first) as before:
        assert any(asked(before) > STALL_MS for _ in range(TRIES))
        with attached(server.pid, "--mode", "always") as a:
            with connected(first) as later, connected(server.port()) as elsewhere:
                for client in (before, later, elsewhere):
                    assert any(asked(client) < STALL_MS for _ in range(TRIES))
            assert a.end() == 0
        assert any(asked(before) > STALL_MS for _ in range(TRIES))


def test_a_live_experiment_reaches_what_it_accepts(server, tmp_path):
    """Its connections got no arm, so that nothing was measured."""
    words = ["--live", server.pid, *EVEN, "--time", 8, "--min-exchanges", 5, "--json", tmp_path / "r.json"]
    port = server.port()
    with subprocess.Popen([COMMAND, "ab", "--quiet", *map(str, words)], env=bare_env(),
                          stdout=subprocess.PIPE, text=True) as live:
        while live.poll() is None:
            with connected(port) as client:
                asked(client)
        said = live.stdout.read()
    assert re.search(r"^nodelay wins: ", said, re.MULTILINE), said
    units = measured(tmp_path / "r.json")["units"]
    assert {unit["arm"] for unit in units} == {"off", "nodelay"} and len(units) > 10
