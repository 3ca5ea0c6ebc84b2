# SPDX-License-Identifier: MIT
"""The well side of a sick server or relay: asks over one connection, times each answer."""

import socket
import time

from harness import data_segments_in


class Driver:
    """A client on one keep-alive connection, as a context manager.

    Each request leaves whole, so that only the other side can stall.
    """

    def __init__(self, port, timeout=60):
        self._socket = socket.create_connection(("127.0.0.1", port), timeout)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.times_ms = []
        self.counts = []

    def send(self, piece):
        """Send the first part of a request; the time of the exchange does not run yet."""
        self._socket.sendall(piece)

    def exchange(self, request, answered):
        """Send `request`, read until `answered(bytes so far)`, and return the answer.

        The time runs from the request's leaving to the answer's last byte.
        """
        begin = time.monotonic_ns()
        self._socket.sendall(request)
        answer = b""
        while not answered(answer):
            piece = self._socket.recv(65536)
            assert piece, f"the connection ended in the middle of an answer: {answer[:200]!r}"
            answer += piece
        self.times_ms.append((time.monotonic_ns() - begin) / 1e6)
        self.counts.append(data_segments_in(self._socket))
        return answer

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._socket.close()
