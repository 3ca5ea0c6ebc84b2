# SPDX-License-Identifier: MIT
"""The well side of a sick HTTP client: reads each request whole, answers in one piece, keeps times."""

import re
import threading
import time

from harness import Peer

from .tcp_info import data_segments_in


class HttpPeer(Peer):
    """Answers request number k of a connection with the body `answer k`.

    The first answer waits until meet() has been called with the client's process, so that the
    client is looked at while it lives.  An exchange's time runs from one whole request to the
    next: what the client spends on an answer is part of it.
    """

    def __init__(self):
        super().__init__()
        self.requests = []
        self.times_ms = []
        self.counts = []
        self.heads = []
        self._look = None
        self._met = threading.Event()

    def meet(self, look):
        """`look()` is called once, before the first answer."""
        self._look = look
        self._met.set()

    @staticmethod
    def answer(number):
        return b"answer %d\n" % number

    def _first(self):
        assert self._met.wait(10), "nobody told the peer which client to look at"
        self._look()

    def serve(self, connection):
        sock, pending, before = connection.socket, b"", None
        while True:
            while not (end := _end_of_request(pending)):
                piece = sock.recv(65536)
                if not piece:
                    assert not pending, f"the client left in the middle of a request: {pending!r}"
                    return
                pending += piece
            now = time.monotonic_ns()
            if before is None:
                self._first()
                now = time.monotonic_ns()
            else:
                self.times_ms.append((now - before) / 1e6)
            before = now
            self.counts.append(data_segments_in(sock))
            head, _, body = pending[:end].partition(b"\r\n\r\n")
            self.heads.append(head)
            self.requests.append(body)
            pending = pending[end:]
            text = self.answer(len(self.requests))
            sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n%s"
                         % (len(text), text))


def _end_of_request(pending):
    """Where the first whole request ends; 0 if it is not all there."""
    head, blank, rest = pending.partition(b"\r\n\r\n")
    if not blank:
        return 0
    length = re.search(rb"(?im)^content-length:\s*(\d+)", head)
    assert length, f"a request without a length: {head!r}"
    need = int(length.group(1))
    return len(head) + len(blank) + need if len(rest) >= need else 0
