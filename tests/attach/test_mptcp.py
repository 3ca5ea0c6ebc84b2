# SPDX-License-Identifier: MIT
"""unstall attach and MPTCP: it is cured by its cgroup, and by its process, which made the socket of MPTCP
only: the kernel makes the TCP connections below."""

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
from unreached import TRIES, is_cured, need_mptcp, stalls, talking

from harness import COMMAND, STALL_MS, bare_env, cgroup

sys.path.insert(0, str(Path(__file__).parents[1] / "experiments"))

from trial import EVEN, measured  # noqa: E402

pytestmark = pytest.mark.usefixtures("mptcp")


@pytest.fixture(name="mptcp")
def mptcp_is_there():
    need_mptcp()


@pytest.mark.parametrize("mode", ["always", "proof"])
def test_in_its_cgroup_it_is_cured_and_put_back(mode):
    """test_attach.py has it by its process."""
    with cgroup(f"unstall-{os.getpid()}") as (folder, enter), talking("MPTCP", before=enter) as talker:
        assert stalls(talker)
        with attached("--cgroup", folder, "--mode", mode) as a:
            assert is_cured(talker)
            assert a.end() == 0
        assert stalls(talker)


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
