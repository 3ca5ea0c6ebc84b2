# SPDX-License-Identifier: MIT
"""Stands before a server that cannot count, and counts the client's data segments."""

import select
import socket

from harness import Peer, data_segments_in


class CountingRelay(Peer):
    """Passes the bytes on in both directions; `counts` has the client's data segments of
    each connection that ended."""

    def __init__(self, port):
        super().__init__()
        self._server = port
        self.counts = []

    def serve(self, connection):
        client = connection.socket
        with socket.create_connection(("127.0.0.1", self._server), 10) as server:
            server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            other = {client: server, server: client}
            while other:
                for sock in select.select(list(other), [], [], 20)[0]:
                    piece = sock.recv(65536)
                    if piece:
                        other[sock].sendall(piece)
                        continue
                    if sock is client:
                        self.counts.append(data_segments_in(client))
                    try:
                        other.pop(sock).shutdown(socket.SHUT_WR)
                    except OSError:
                        pass  # that side has gone already
