# SPDX-License-Identifier: MIT
"""server.py PORT SIZE: answers each message by one of SIZE bytes that begins with it."""

import sys
from multiprocessing.connection import Listener

SIZE = int(sys.argv[2])

with Listener(("127.0.0.1", int(sys.argv[1]))) as listener:
    while True:
        with listener.accept() as connection:
            try:
                while True:
                    connection.send_bytes(connection.recv_bytes().ljust(SIZE, b"."))
            except EOFError:
                pass
