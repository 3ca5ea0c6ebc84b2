# SPDX-License-Identifier: MIT
#
# A server that writes each answer in two pieces.  It prints its port.
import socket


def send_header(client):
    client.sendall(b"h" * 200)


def send_body(client):
    client.sendall(b"b" * 100)


with socket.create_server(("127.0.0.1", 0)) as server:
    print(server.getsockname()[1], flush=True)
    client, _ = server.accept()
    while client.recv(100):
        send_header(client)
        send_body(client)
