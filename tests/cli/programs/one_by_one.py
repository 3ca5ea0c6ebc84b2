# SPDX-License-Identifier: MIT
#
# A server that reads requests of ten bytes one by one and answers each by one write: a client that sends two
# at once waits.  It prints its port.
import socket


def answer_first(client):
    client.sendall(b"f" * 200)


def answer_second(client):
    client.sendall(b"s" * 100)


with socket.create_server(("127.0.0.1", 0)) as server:
    print(server.getsockname()[1], flush=True)
    client, _ = server.accept()
    while client.recv(10, socket.MSG_WAITALL):
        answer_first(client)
        client.recv(10, socket.MSG_WAITALL)
        answer_second(client)
