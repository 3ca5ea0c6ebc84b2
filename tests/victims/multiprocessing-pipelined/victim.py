# SPDX-License-Identifier: MIT
"""A listener of Python's multiprocessing.connection gets two messages at once: it reads one by exact lengths,
answers, and reads the next."""

import struct

from runner import Victim, all_there, asked

SIZE = 40


def messages(number, size=0):
    """Two, a length before each."""
    texts = [f"number {2 * number + which}".encode().ljust(size, b".") for which in range(2)]
    return b"".join(struct.pack(">i", len(text)) + text for text in texts)


def right(number, so_far):
    return all_there(so_far, messages(number, SIZE))


VICTIM = Victim(
    sick="server",
    needs=("/usr/bin/python3",),
    measure=asked("/usr/bin/python3", "multiprocessing-pipelined/server.py", more=[SIZE], requests=messages,
                  right=right),
    verdict="it sends a small answer while the one before is not acknowledged yet, and Nagle holds it",
    pieces=(44, 44),
    segments={"nodelay": 2, "auto": 2},
)
