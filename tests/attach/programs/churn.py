# SPDX-License-Identifier: MIT
"""Connections of all kinds for a while: stalling exchanges, small streams, bulk, resets.

churn.py SECONDS SEED prints the number of its connections and exchanges, or fails where bytes are lost.
"""

import random
import socket
import struct
import sys
import threading
import time

RESET = struct.pack("ii", 1, 0)
end = time.monotonic() + float(sys.argv[1])
choice = random.Random(int(sys.argv[2]))
server = socket.create_server(("127.0.0.1", 0), backlog=64)
connections = exchanges = 0


def take(connection, count):
    got = bytearray()
    while len(got) < count:
        piece = connection.recv(count - len(got))
        if not piece:
            raise EOFError
        got += piece
    return got


def answer(connection):
    """A message: 4 bytes of its length, its bytes; the answer is its length, or nothing to a stream (0)."""
    try:
        with connection:
            while True:
                (size,) = struct.unpack("!I", take(connection, 4))
                if size == 0:
                    while connection.recv(65536):
                        time.sleep(0.002)
                    return
                connection.sendall(struct.pack("!I", len(take(connection, size))))
    except (EOFError, ConnectionError):
        pass


def accept():
    while True:
        threading.Thread(target=answer, args=(server.accept()[0],), daemon=True).start()


def exchange(connection, size):
    connection.sendall(struct.pack("!I", size))
    connection.sendall(bytes(size))
    assert struct.unpack("!I", take(connection, 4)) == (size,)


threading.Thread(target=accept, daemon=True).start()
while time.monotonic() < end:
    with socket.create_connection(server.getsockname()) as client:
        connections += 1
        for _ in range(choice.randrange(1, 40)):
            exchange(client, choice.choice([1, 100, 3000, 200000]))
            exchanges += 1
        if choice.random() < 0.3:
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, choice.randrange(2))
        if choice.random() < 0.3:
            client.sendall(struct.pack("!I", 0))
            for _ in range(60):
                client.sendall(b"small")
                time.sleep(0.0005)
        elif choice.random() < 0.3:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
print(connections, exchanges, flush=True)
