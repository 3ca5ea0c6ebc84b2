# SPDX-License-Identifier: MIT
"""Times exchanges of HTTP on one connection, in ms a line.  Arguments: port, seconds to wait for the server.

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


with connected(int(sys.argv[1]), time.monotonic() + float(sys.argv[2])) as s, s.makefile("rb") as answers:
    for i in range(WARM + EXCHANGES):
        begin = time.perf_counter()
        s.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        length = 0
        while (line := answers.readline()) != b"\r\n":
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        assert len(answers.read(length)) == length
        if i >= WARM:
            print(1000 * (time.perf_counter() - begin))
