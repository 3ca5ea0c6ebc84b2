# SPDX-License-Identifier: MIT
"""Python's multiprocessing.connection over TCP writes the length of a message of more than 16 KB and then the
message."""

import struct

from runner import Affected, Victim, all_there, asked

SIZE = 20000


def message(number, size=0):
    text = f"number {number}".encode().ljust(size, b".")
    return struct.pack(">i", len(text)) + text


def right(number, so_far):
    return all_there(so_far, message(number, SIZE))


VICTIM = Victim(
    sick="server",
    needs=("/usr/bin/python3",),
    measure=asked("/usr/bin/python3", "multiprocessing-pipelined/server.py", more=[SIZE], requests=message,
                  right=right),
    pieces=(4, 20000),
    affected=Affected(
        software="CPython, multiprocessing.connection over AF_INET",
        package="python3.11",
        source="Set TCP_NODELAY on a socket of `connection.fileno()` (socket.fromfd).",
        observe="python3 server.py",
        words=("multiprocessing.connection",),
    ),
)
