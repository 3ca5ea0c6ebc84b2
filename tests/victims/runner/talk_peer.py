# SPDX-License-Identifier: MIT
"""The well side of a sick client: takes each message whole, answers in one piece, keeps times."""

import threading
import time

from harness import Peer, data_segments_in


class TalkPeer(Peer):
    """Speaks a protocol of messages and answers; a subclass has take(), and perhaps a `hello`.

    take(pending) -> None if the message is not all there, else (its length, the answer, whether an
    exchange ends with it).  The first answer waits until meet() has been called with the client's
    process, so that the client is looked at while it lives.  An exchange's time runs from the end of one
    to the end of the next: the client's work on an answer is part of it.
    """

    hello = b""

    def __init__(self):
        super().__init__()
        self.times_ms = []
        self.counts = []
        self._look = None
        self._met = threading.Event()

    def meet(self, look):
        """`look()` is called once, before the first answer."""
        self._look = look
        self._met.set()

    def take(self, pending):
        raise NotImplementedError

    def _first(self):
        assert self._met.wait(60), "nobody told the peer which client to look at"
        if self._look:
            self._look()
        self._look = None

    def serve(self, connection):
        sock, pending, before = connection.socket, b"", None
        sock.sendall(self.hello)
        while True:
            while (taken := self.take(pending) if pending else None) is None:
                piece = sock.recv(65536)
                if not piece:
                    assert not pending, f"the client left in the middle of a message: {pending!r}"
                    return
                pending += piece
            now = time.monotonic_ns()
            self._first()
            length, answer, ends = taken
            pending = pending[length:]
            if ends:
                if before is not None:
                    self.times_ms.append((now - before) / 1e6)
                before = time.monotonic_ns() if before is None else now
                self.counts.append(data_segments_in(sock))
            if answer:
                sock.sendall(answer)
