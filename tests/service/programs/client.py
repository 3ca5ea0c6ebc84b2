# SPDX-License-Identifier: MIT
"""Times exchanges of HTTP on one connection, in ms a line.

Arguments: port, seconds to wait for the server, and one of these:

  endless            traffic until it is killed
  get N, post N      N exchanges, all of them timed; `post` sends header and body apart

The first exchanges are else left out: there the receiving kernel acknowledges at once.
"""

import socket
import sys
import time

WARM, EXCHANGES = 3, 9


def connected(port, end):
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port), timeout=10)
        except ConnectionRefusedError:
            if time.monotonic() > end:
                raise
            time.sleep(0.02)


GET = [b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"]
POST = [b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n", b"x" * 100]


def exchange(s, answers, pieces):
    begin = time.perf_counter()
    for piece in pieces:
        s.sendall(piece)
    length = 0
    while (line := answers.readline()) != b"\r\n":
        if not line:
            raise ConnectionResetError
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    assert len(answers.read(length)) == length
    return 1000 * (time.perf_counter() - begin)


def conversation(port, patience_s, count, warm=WARM, pieces=GET):
    with connected(port, time.monotonic() + patience_s) as s, s.makefile("rb") as answers:
        for i in range(warm + count):
            ms = exchange(s, answers, pieces)
            if i >= warm:
                print(ms)


def endless(port, patience_s):
    """Traffic for a minute, also while the server is restarted."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        try:
            conversation(port, patience_s, 1)
            time.sleep(0.02)
        except ConnectionError:
            pass


if sys.argv[3:] == ["endless"]:
    endless(int(sys.argv[1]), float(sys.argv[2]))
elif sys.argv[3:]:
    conversation(int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[4]), 0,
                 POST if sys.argv[3] == "post" else GET)
else:
    conversation(int(sys.argv[1]), float(sys.argv[2]), EXCHANGES)
