# SPDX-License-Identifier: MIT
"""A client that writes each message in two small pieces.

    staller.py ADDRESS PORT [COUNT | each]

It says "ready" behind the third exchange and "done" behind COUNT of them, and waits until its input ends.
Without COUNT there is no end; `each` is on a connection of its own.
"""

import itertools
import socket
import sys

peer, how = (sys.argv[1], int(sys.argv[2])), sys.argv[3] if len(sys.argv) > 3 else ""
s = socket.create_connection(peer)
for made in range(1, int(how) + 1) if how.isdigit() else itertools.count(1):
    if how == "each":
        s.close()
        s = socket.create_connection(peer)
    s.send(b"a" * 200)
    s.send(b"b" * 100)
    got = 0
    while got < 200:
        got += len(s.recv(200 - got))
    if made == 3:
        print("ready", flush=True)
print("done", flush=True)
sys.stdin.read()
