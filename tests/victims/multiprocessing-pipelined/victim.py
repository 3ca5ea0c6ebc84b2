# SPDX-License-Identifier: MIT
"""Python's multiprocessing.connection over TCP: each read takes a message's length, or the message."""

import struct
from pathlib import Path

from runner import Victim, run_pipelined

HERE = Path(__file__).parent
EXCHANGES = 20
SIZE = 40


def messages(number, size=0):
    return [f"number {2 * number + which}".encode().ljust(size, b".") for which in range(2)]


def packed(texts):
    return b"".join(struct.pack(">i", len(text)) + text for text in texts)


def right(number, so_far):
    answers = packed(messages(number, SIZE))
    assert answers.startswith(so_far), so_far
    return so_far == answers


def measure(treatment, scratch):
    return run_pipelined(treatment, scratch,
                         lambda port: ["/usr/bin/python3", HERE / "server.py", port, SIZE], EXCHANGES,
                         lambda number: packed(messages(number)), right)


VICTIM = Victim(
    story="a listener of Python's multiprocessing.connection gets two messages at once: it reads one by "
          "exact lengths, answers, and reads the next",
    sick="server",
    needs=("/usr/bin/python3",),
    measure=measure,
    verdict="it sends a small answer while the one before is not acknowledged yet, and Nagle holds it",
    pieces=(44, 44),
    segments={"nodelay": 2, "auto": 2},
)
