# SPDX-License-Identifier: MIT
"""A server program of tests/preload/programs (server.h) and a plain client in the test process."""

import contextlib
import socket
import statistics
import subprocess
import time
from dataclasses import dataclass, field

from .client import STALL_MS, WARM
from .library import mode_env
from .tcp_info import data_segments_in

REQUEST = 50


@dataclass
class ServerRun:
    """A client's record of a server: every answer's time, and the bytes."""
    us: list = field(default_factory=list)
    received: bytearray = field(default_factory=bytearray)
    segments: float = 0  # that brought an answer, on the average

    @property
    def median_ms(self):
        return statistics.median(self.us[WARM:]) / 1000

    @property
    def stalls(self):
        """Whether the answers stall."""
        return self.median_ms > STALL_MS


@contextlib.contextmanager
def started_server(argv, mode, **variables):
    """Run a program of server.h; gives (process, port) and checks that it was (un)loaded and ends well."""
    process = subprocess.Popen([str(word) for word in argv], env=mode_env(mode, **variables),
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    try:
        port, loaded = process.stdout.readline().split()
        assert loaded == ("bare" if mode == "bare" else "loaded")
        yield process, int(port)
        assert process.wait(20) == 0
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def request_all(port, count, *, answer=300, address="127.0.0.1"):
    """Make `count` requests on one connection and time the answers."""
    seen = ServerRun()
    with socket.create_connection((address, port), timeout=20) as sock:
        for number in range(count):
            if number == WARM:
                before = data_segments_in(sock)
            begin = time.monotonic_ns()
            sock.sendall(b"q" * REQUEST)
            due = len(seen.received) + answer
            while len(seen.received) < due:
                piece = sock.recv(due - len(seen.received))
                assert piece, "the server closed the connection"
                seen.received += piece
            seen.us.append((time.monotonic_ns() - begin) / 1000)
        if count > WARM:
            seen.segments = (data_segments_in(sock) - before) / (count - WARM)
    return seen
