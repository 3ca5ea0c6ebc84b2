# SPDX-License-Identifier: MIT
"""unstall attach and MPTCP: it is cured by its cgroup, and not by its process, which one sentence says."""

import contextlib
import os
import subprocess
import sys
from pathlib import Path

import pytest
from attachments import attached
from talkers import alone, cgroup, nothing_pinned

from harness import STALL_MS, skip

MPTCP = Path("/proc/sys/net/mptcp/enabled")
TRIES = 5

# Both ends in one process; for each line the median of some exchanges in ms, and TCP_NODELAY as it reads it.
TALKER = """
import socket, statistics, sys, threading, time
def made():
    return socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262)
def answer():
    far = listener.accept()[0]
    while far.recv(300, socket.MSG_WAITALL):
        far.sendall(b"r" * 200)
def exchange():
    begin = time.monotonic()
    near.send(b"p" * 200)
    near.send(b"p" * 100)
    near.recv(200)
    return (time.monotonic() - begin) * 1000
listener, near = made(), made()
listener.bind(("127.0.0.1", 0))
listener.listen()
threading.Thread(target=answer, daemon=True).start()
near.connect(listener.getsockname())
for _ in sys.stdin:
    print(statistics.median(exchange() for _ in range(15)),
          near.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY), flush=True)
"""


@pytest.fixture(autouse=True)
def nothing_stays():
    if not MPTCP.exists() or MPTCP.read_text("ascii") != "1\n":
        skip("the kernel has no MPTCP")
    with alone():
        yield from nothing_pinned()


class Talker:
    """It, and its exchanges."""

    def __init__(self, before=None):
        self.process = subprocess.Popen([sys.executable, "-S", "-c", TALKER], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True, bufsize=1, preexec_fn=before)

    def median(self):
        self.process.stdin.write("\n")
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


def test_by_its_process_it_is_not_reached_and_one_sentence_says_so():
    """Nothing was said, and nothing was cured."""
    with talking() as talker:
        assert talker.stalls()
        with attached(talker.process.pid, "--mode", "always") as a:
            assert a.said.count("MPTCP, which are not reached by its process id; --port, --unit") == 1
            assert talker.stalls()
            assert a.end() == 0
