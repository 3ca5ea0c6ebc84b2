# SPDX-License-Identifier: MIT
"""Times exchanges of HTTP on one connection, in ms a line.

Arguments: port, seconds to wait for the server, and `endless` for traffic until it is killed.

The first exchanges are left out: there the receiving kernel acknowledges at once.
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


def exchange(s, answers):
    begin = time.perf_counter()
    s.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
    length = 0
    while (line := answers.readline()) != b"\r\n":
        if not line:
            raise ConnectionResetError
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    assert len(answers.read(length)) == length
    return 1000 * (time.perf_counter() - begin)


def conversation(port, patience_s, count):
    with connected(port, time.monotonic() + patience_s) as s, s.makefile("rb") as answers:
        for i in range(WARM + count):
            ms = exchange(s, answers)
            if i >= WARM:
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
else:
    conversation(int(sys.argv[1]), float(sys.argv[2]), EXCHANGES)
