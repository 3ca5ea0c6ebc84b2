# SPDX-License-Identifier: MIT
"""Peers on loopback, in threads of the test process, which is never preloaded."""

import select
import socket
import struct
import string
import threading
import time


_SIGNS = (string.digits + string.ascii_uppercase + string.ascii_lowercase).encode()
# The pattern repeats after 64 * 62 bytes.  Built byte by byte, 4 MB take a second of the processor.
_PERIOD = bytes(_SIGNS[(at * 7 + (at >> 6) * 13) % len(_SIGNS)] for at in range(64 * len(_SIGNS)))


def pattern(length, start=0):
    """The bytes that programs/client.h sends: pieces out of place or out of order differ."""
    offset = start % len(_PERIOD)
    return (_PERIOD * ((offset + length) // len(_PERIOD) + 1))[offset:offset + length]


class Connection:
    """One accepted connection and all that arrived on it, with the time of each arrival."""

    def __init__(self, sock):
        self.socket = sock
        self.received = bytearray()
        self.arrivals = []  # (time.monotonic_ns(), bytes in all)
        self._taken = 0

    def _more(self):
        piece = self.socket.recv(65536)
        self.received += piece
        if piece:
            self.arrivals.append((time.monotonic_ns(), len(self.received)))
        return bool(piece)

    def take(self, length):
        """The next `length` bytes; None if the stream ends before."""
        while len(self.received) - self._taken < length:
            if not self._more():
                return None
        self._taken += length
        return bytes(self.received[self._taken - length:self._taken])

    def drain(self):
        """Read until the stream ends."""
        while self._more():
            pass

    def arrival_of(self, position):
        """When byte `position` (from 0) had arrived, in time.monotonic_ns(); None if it has not."""
        return next((when for when, total in list(self.arrivals) if total > position), None)


class Peer:
    """A server that runs `serve(connection)` in a thread for each connection.

    Use as a context manager.  An exception in `serve` is raised when the context ends; a
    connection reset by the program under test is not wrong (`broken` counts them).
    """

    def __init__(self, serve=None, address="127.0.0.1", protocol=0, family=None, receive_buffer=None):
        if family is None:
            family = socket.AF_INET6 if ":" in address else socket.AF_INET
        if serve is not None:
            self.serve = serve
        self.address = address
        self.connections = []
        self.broken = 0
        self._errors = []
        self._threads = []
        self._listener = socket.socket(family, socket.SOCK_STREAM, protocol)
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if receive_buffer is not None:
            self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self._listener.bind((address, 0))
        self._listener.listen(2048)
        self.port = self._listener.getsockname()[1]
        self._acceptor = threading.Thread(target=self._accept, daemon=True)

    def serve(self, connection):
        raise NotImplementedError

    @property
    def target(self):
        """The arguments that client programs take first: address and port."""
        return [self.address, str(self.port)]

    def _accept(self):
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            connection = Connection(sock)
            self.connections.append(connection)
            thread = threading.Thread(target=self._guard, args=(connection,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _guard(self, connection):
        try:
            self.serve(connection)
        except (ConnectionError, TimeoutError):
            self.broken += 1
        except Exception as error:  # pylint: disable=broad-except
            self._errors.append(error)
        finally:
            connection.socket.close()

    def __enter__(self):
        self._acceptor.start()
        return self

    def _accept_the_rest(self):
        """The client may have ended before a busy machine has let the acceptor see its connection."""
        until = time.monotonic() + 10
        while select.select([self._listener], [], [], 0)[0] and time.monotonic() < until:
            time.sleep(0.001)

    def __exit__(self, kind, _value, _trace):
        if kind is None:
            self._accept_the_rest()
        self._listener.shutdown(socket.SHUT_RDWR)
        self._acceptor.join(5)
        self._listener.close()
        for thread in self._threads:
            thread.join(0.01 if kind else 5)
        for connection in self.connections:
            connection.socket.close()
        if kind is None and self._errors:
            raise self._errors[0]


class AnsweringPeer(Peer):
    """Answers every `request` bytes with one send of `reply` (bytes, or a number of them)."""

    def __init__(self, request=300, reply=200, **where):
        super().__init__(**where)
        self.request = request
        self.reply = b"r" * reply if isinstance(reply, int) else reply

    def serve(self, connection):
        while connection.take(self.request) is not None:
            connection.socket.sendall(self.reply)


class ScriptedPeer(Peer):
    """Answers messages of these sizes, one after the other, waits, and reads on to the end or resets.

    It waits so many `seconds`, or, `told`, until tell() or a further connection (tell_peer() of client.h).
    """

    def __init__(self, *sizes, seconds=0, told=False, resets=False, **where):
        super().__init__(**where)
        self.sizes, self.seconds, self.resets = sizes, seconds, resets
        self._told = threading.Event() if told else None

    def tell(self):
        self._told.set()

    def serve(self, connection):
        if connection is not self.connections[0]:
            self.tell()
            return
        for size in self.sizes:
            if connection.take(size) is None:
                return
            connection.socket.sendall(b"r" * 200)
        if self._told:
            self._told.wait(20)  # a bound, for a program that has ended too early
        time.sleep(self.seconds)
        if self.resets:
            connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        else:
            connection.drain()


class SilentPeer(Peer):
    """Reads until the stream ends and never says a word."""

    def serve(self, connection):
        connection.drain()


class CrossingPeer(Peer):
    """The peer of preload/programs/crossing.c.

    It answers by SIZES.  With `notes` it first sends two of 21 bytes, and two more for two confirmations.
    """

    SIZES = {b"A": (26, 77), b"B": (9, 0), b"C": (33, 90), b"x": (1, 1)}

    def __init__(self, notes=False):
        super().__init__()
        self.notes = notes

    def serve(self, connection):
        connection.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self.notes:
            connection.socket.sendall(b"n" * 42)
            while connection.take(18) is not None:
                connection.socket.sendall(b"n" * 42)
            return
        while (what := connection.take(1)) is not None:
            request, answer = self.SIZES[bytes(what)]
            if request > 1 and connection.take(request - 1) is None:
                return
            if answer:
                connection.socket.sendall(b"a" * answer)
