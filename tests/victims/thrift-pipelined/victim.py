# SPDX-License-Identifier: MIT
"""A Thrift server in Python with TFramedTransport gets two calls at once: it reads a frame by exact lengths,
answers, and reads the next."""

import struct

from runner import Affected, Victim, all_there, asked

CALL, REPLY, STRING, I32, STOP = 1, 2, 11, 8, b"\0"
WORDS = (b"one", b"three")


def frame(kind, sequence, field):
    """A message of the binary protocol, strict, in a frame."""
    body = struct.pack(">HBBI", 0x8001, 0, kind, 6) + b"length" + struct.pack(">i", sequence) + field + STOP
    return struct.pack(">I", len(body)) + body


def requests(number):
    return b"".join(frame(CALL, 2 * number + which, struct.pack(">BHI", STRING, 1, len(word)) + word)
                    for which, word in enumerate(WORDS))


def right(number, so_far):
    return all_there(so_far, b"".join(
        frame(REPLY, 2 * number + which, struct.pack(">BHI", I32, 0, len(word)))
        for which, word in enumerate(WORDS)))


VICTIM = Victim(
    sick="server",
    needs=("/usr/bin/python3",),
    packages=("python3-thrift",),
    measure=asked("/usr/bin/python3", "thrift-pipelined/server.py", requests=requests, right=right),
    verdict="it sends a small answer while the one before is not acknowledged yet, and Nagle holds it",
    pieces=(30, 30),
    segments={"nodelay": 2, "auto": 2},
    affected=Affected(
        software="Thrift in Python, TFramedTransport, clients that pipeline",
        package="python3-thrift",
        source="Set TCP_NODELAY in `accept()` of a subclass of TServerSocket.",
        measured=True,
        observe="python3 server.py",
        words=("TFramedTransport",),
    ),
)
