# SPDX-License-Identifier: MIT
"""The well side of a sick HTTP client."""

import re

from .talk_peer import TalkPeer


class HttpPeer(TalkPeer):
    """Answers request number k of a connection with the body `answer k`."""

    kind = "text/plain"

    def __init__(self):
        super().__init__()
        self.requests = []
        self.heads = []

    @staticmethod
    def answer(number):
        return b"answer %d\n" % number

    def take(self, pending):
        end = _end_of_request(pending)
        if not end:
            return None
        head, _, body = pending[:end].partition(b"\r\n\r\n")
        self.heads.append(head)
        self.requests.append(body)
        text = self.answer(len(self.requests))
        return end, b"HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s" % (
            self.kind.encode(), len(text), text), True


def _end_of_request(pending):
    """Where the first whole request ends; 0 if it is not all there."""
    head, blank, rest = pending.partition(b"\r\n\r\n")
    if not blank:
        return 0
    length = re.search(rb"(?im)^content-length:\s*(\d+)", head)
    assert length, f"a request without a length: {head!r}"
    need = int(length.group(1))
    return len(head) + len(blank) + need if len(rest) >= need else 0
