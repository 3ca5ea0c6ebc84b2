#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A sender and a receiver for the pictures of docs/how-it-works.md, on one connection of loopback.

    talk.py KIND PORT

    nagle    five small writes; the receiver acknowledges after 10 ms, as from a round trip of 10 ms
    answer   one small write; the receiver answers at once
    alone    one small write; the receiver needs 100 ms for its answer

Each message has 100 bytes in all, each answer 50.  The exchanges before the last one only make the
connection used to answers: Linux acknowledges the first segments of a connection at once.
"""

import os
import socket
import sys
import time

MESSAGE, ANSWER, WARM_UP = 100, b"a" * 50, 8
KINDS = ("nagle", "answer", "alone")


def receive(connection, kind):
    """Reads messages and answers them, until the sender goes."""
    for exchange in range(WARM_UP + 1):
        last = exchange == WARM_UP
        got = len(connection.recv(MESSAGE))
        if last and kind == "nagle":
            time.sleep(0.010)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)
        while got < MESSAGE:
            got += len(connection.recv(MESSAGE))
        if last and kind == "alone":
            time.sleep(0.100)
        connection.sendall(ANSWER)


def send(connection, kind):
    """Sends messages: in one write, the last one of `nagle` in five."""
    for exchange in range(WARM_UP + 1):
        pieces = 5 if kind == "nagle" and exchange == WARM_UP else 1
        for _ in range(pieces):
            connection.send(b"m" * (MESSAGE // pieces))
        connection.recv(len(ANSWER))


def main(kind, port):
    """The receiver is a child, so that strace sees the sender alone."""
    if kind not in KINDS:
        sys.exit(f"talk.py: {kind}: expected one of {', '.join(KINDS)}")
    with socket.create_server(("127.0.0.1", port)) as listener:
        child = os.fork()
        if child == 0:
            receive(listener.accept()[0], kind)
            os._exit(0)
    with socket.create_connection(("127.0.0.1", port)) as connection:
        send(connection, kind)
    os.waitpid(child, 0)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
