# SPDX-License-Identifier: MIT
#
# two_authors.py [BYTES]: a server that writes each answer in two pieces, the second of so many bytes (100).
# It prints its port.
import socket
import sys

SECOND = int(sys.argv[1]) if len(sys.argv) > 1 else 100


def send_header(client):
    client.sendall(b"h" * 200)


def send_body(client):
    client.sendall(b"b" * SECOND)


with socket.create_server(("127.0.0.1", 0)) as server:
    print(server.getsockname()[1], flush=True)
    client, _ = server.accept()
    while client.recv(100):
        send_header(client)
        send_body(client)
