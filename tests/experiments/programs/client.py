# SPDX-License-Identifier: MIT
"""Requests of 300 bytes, each answered by 100.  client.py PORT EXCHANGES [HABIT [CONNECTIONS]]

HABIT two: a request is two sends, which stalls; polite: two sends with TCP_NODELAY; one: one send.
CONNECTIONS: that many, four at a time, each with so many exchanges.  Prints "took N us" of the mean."""

import socket
import sys
import time
from concurrent.futures import ThreadPoolExecutor

PORT, EXCHANGES = int(sys.argv[1]), int(sys.argv[2])
HABIT = (sys.argv[3:] or ["two"])[0]
CONNECTIONS = int((sys.argv[4:] or ["1"])[0])


def talk():
    """One connection."""
    with socket.create_connection(("127.0.0.1", PORT)) as connection:
        if HABIT == "polite":
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for _ in range(EXCHANGES):
            if HABIT == "one":
                connection.send(b"r" * 300)
            else:
                connection.send(b"h" * 200)
                connection.send(b"b" * 100)
            missing = 100
            while missing:
                missing -= len(connection.recv(missing)) or sys.exit("the server has gone")


def some(count):
    """One after another."""
    for _ in range(count):
        talk()


began = time.monotonic()
with ThreadPoolExecutor(4) as lanes:
    for lane in [lanes.submit(some, (CONNECTIONS + lane) // 4) for lane in range(4)]:
        lane.result()  # an exception of one ends the program with status 1
print(f"took {(time.monotonic() - began) / EXCHANGES * 1e6:.1f} us")
