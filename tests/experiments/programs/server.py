# SPDX-License-Identifier: MIT
"""Answers each request of 300 bytes.  server.py PORT [THINK_MS [PIECES]]

PIECES 2: the answer is two small writes, which stalls; 1: it is one."""

import socket
import sys
import threading
import time

PORT = int(sys.argv[1])
THINK = float((sys.argv[2:] or ["0"])[0]) / 1000
PIECES = int((sys.argv[3:] or ["1"])[0])


def serve(connection):
    """One connection, to its end."""
    with connection:
        while True:
            missing = 300
            while missing:
                piece = connection.recv(missing)
                if not piece:
                    return
                missing -= len(piece)
            if THINK:
                time.sleep(THINK)
            if PIECES == 2:
                connection.send(b"h" * 80)
                connection.send(b"b" * 20)
            else:
                connection.send(b"a" * 100)


with socket.create_server(("127.0.0.1", PORT)) as listener:
    while True:
        threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
