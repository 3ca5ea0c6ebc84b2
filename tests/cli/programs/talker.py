# SPDX-License-Identifier: MIT
"""A client that makes as many exchanges as each line of its input says, each in two small writes.

Before a line's exchanges it prints "begun", behind them the milliseconds of all of them.
"""

import socket
import sys
import time

HEADER, BODY, REPLY = 200, 100, 200  # as harness.AnsweringPeer wants them

sock = socket.create_connection((sys.argv[1], int(sys.argv[2])))
for line in sys.stdin:
    times = []
    print("begun", flush=True)
    for _ in range(int(line)):
        begin = time.monotonic()
        sock.send(b"h" * HEADER)
        sock.send(b"b" * BODY)
        got = 0
        while got < REPLY:
            got += len(sock.recv(REPLY - got))
        times.append(1000 * (time.monotonic() - begin))
    print(times, flush=True)
