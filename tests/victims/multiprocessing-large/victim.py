# SPDX-License-Identifier: MIT
"""The server of multiprocessing-pipelined, with answers over 16 KB: their length is a write of its own."""

import struct
from pathlib import Path

from runner import Affected, Daemon, Driver, Victim, measured

SERVER = Path(__file__).parents[1] / "multiprocessing-pipelined" / "server.py"
EXCHANGES = 20
SIZE = 20000


def measure(treatment, scratch):
    with Daemon(lambda port: ["/usr/bin/python3", SERVER, port, SIZE], treatment.env(), scratch) as server:
        with Driver(server.port) as driver:
            for number in range(EXCHANGES):
                text = f"number {number}".encode()
                answer = driver.exchange(struct.pack(">i", len(text)) + text,
                                         lambda so_far: len(so_far) == 4 + SIZE)
                assert answer == struct.pack(">i", SIZE) + text.ljust(SIZE, b"."), answer[:40]
            treatment.assert_in(server.pid)
    return measured(driver.times_ms, driver.counts)


VICTIM = Victim(
    story="Python's multiprocessing.connection over TCP writes the length of a message of more than 16 KB "
          "and then the message",
    sick="server",
    needs=("/usr/bin/python3",),
    measure=measure,
    verdict="it sends each answer in two small writes and Nagle holds the second",
    pieces=(4, 20000),
    segments={"nodelay": 2, "cork": 1, "coalesce": 1, "auto": 1},
    affected=Affected(
        software="CPython, multiprocessing.connection over AF_INET",
        package="python3.11",
        source="Set TCP_NODELAY on a socket of `connection.fileno()` (socket.fromfd).",
        observe="python3 server.py",
        words=("multiprocessing.connection",),
    ),
)
