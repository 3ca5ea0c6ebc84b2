# SPDX-License-Identifier: MIT
"""Avast's urlite gets two requests before it answers; the second answer waits behind the stall of the
first."""

from runner import Victim, asked, load

ANSWERS = (b"you asked for /first\n", b"you asked for /second\n")
REQUESTS = b"".join(b"GET /%s HTTP/1.1\r\nHost: localhost\r\n\r\n" % name for name in (b"first", b"second"))


def right(_, so_far):
    if not so_far.endswith(ANSWERS[1]):
        return False
    assert so_far.count(b"HTTP/1.1 200 OK\r\n") == 2 and ANSWERS[0] in so_far, so_far
    return True


VICTIM = Victim(
    sick="server",
    needs=("cargo",),
    measure=asked(load("hyper-writev").measure.__globals__["server"], requests=lambda _: REQUESTS,
                  right=right),
    verdict="it sends each answer in many small writes and Nagle holds all but the first",
    segments={"nodelay": 4, "cork": 2, "coalesce": 2, "auto": 2},
    heavy=True,
)
