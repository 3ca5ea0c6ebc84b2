# SPDX-License-Identifier: MIT
"""Exchanges of two small writes for a while, then a stream of small writes to a peer that reads seldom.

stream.py SECONDS: prints "stream" where it begins, and then the segments of each 100 writes.
"""

import socket
import struct
import sys
import threading
import time

SEGMENTS = 156  # where TCP_INFO has the data segments that were sent


def peer(listener):
    connection, _ = listener.accept()
    while connection.recv(200, socket.MSG_WAITALL)[:1] == b"a":
        connection.sendall(b"r")
    while connection.recv(65536):
        time.sleep(0.02)


server = socket.create_server(("127.0.0.1", 0))
threading.Thread(target=peer, args=(server,), daemon=True).start()
client = socket.create_connection(server.getsockname())
print("port", server.getsockname()[1], flush=True)
end = time.monotonic() + float(sys.argv[1])
while time.monotonic() < end:
    client.sendall(b"a" * 100)
    client.sendall(b"b" * 100)
    client.recv(1)
print("stream", flush=True)
seen = 0
for _ in range(12):
    for _ in range(100):
        client.send(b"x" * 20)
        time.sleep(0.001)
    sent = struct.unpack_from("<I", client.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256), SEGMENTS)[0]
    print(sent - seen, flush=True)
    seen = sent
