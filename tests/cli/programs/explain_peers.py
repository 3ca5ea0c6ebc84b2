# SPDX-License-Identifier: MIT
"""Programs that stall, and programs that do not, for test_explain_real.py.

    explain_peers.py serve BEHAVIOUR            prints its port
    explain_peers.py BEHAVIOUR PORT EXCHANGES   prints, as JSON, for each exchange its time in ms, and how
                                                many bytes its last write found held

Requests are 300 bytes, answers 200.
"""

import fcntl
import json
import socket
import struct
import sys
import threading
import time

REQUEST, ANSWER = 300, 200
SIOCOUTQNSD = 0x894b  # <linux/sockios.h>: bytes that were written and have not left


def receive(sock, size):
    """Exactly so many bytes; b"" at the end of the connection."""
    data = b""
    while len(data) < size:
        piece = sock.recv(size - len(data))
        if not piece:
            return b""
        data += piece
    return data


def bytes_held(sock):
    return struct.unpack("i", fcntl.ioctl(sock, SIOCOUTQNSD, b"1234"))[0]


# ---- servers

def fast(sock):
    sock.sendall(b"a" * ANSWER)


def slow(sock):
    time.sleep(0.045)
    sock.sendall(b"a" * ANSWER)


def answers_in_pieces(sock):
    sock.send(b"h" * 120)
    sock.send(b"b" * (ANSWER - 120))


def serve_connection(sock, behaviour):
    with sock:
        if behaviour == "sink":
            while sock.recv(65536):
                pass
            return
        while True:
            if behaviour == "reads-late":
                time.sleep(0.05)
            if not receive(sock, REQUEST):
                return
            {"slow": slow, "answers-in-pieces": answers_in_pieces}.get(behaviour, fast)(sock)


def serve(behaviour):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        print(listener.getsockname()[1], flush=True)
        while True:
            sock, _ = listener.accept()
            threading.Thread(target=serve_connection, args=(sock, behaviour), daemon=True).start()


# ---- clients

def in_pieces(sock, _):
    sock.send(b"h" * 200)
    sock.send(b"b" * 100)


def in_one(sock, _):
    sock.send(b"w" * REQUEST)


def mixed(sock, i):
    """Every third in pieces."""
    (in_pieces if i % 3 == 0 else in_one)(sock, i)


def pausing(sock, _):
    """Computes between header and body, longer than any acknowledgement is delayed."""
    sock.send(b"h" * 200)
    time.sleep(0.07)
    sock.send(b"b" * 100)


CLIENTS = {"in-pieces": in_pieces, "nodelay": in_pieces, "in-one": in_one, "mixed": mixed,
           "pausing": pausing}


def exchanges(sock, behaviour, count):
    for i in range(count):
        begin = time.perf_counter()
        CLIENTS[behaviour](sock, i)
        held = bytes_held(sock)
        receive(sock, ANSWER)
        yield (time.perf_counter() - begin) * 1000, held


def bulk(sock, count):
    for _ in range(count):
        sock.sendall(b"x" * 300001)


def typing(sock, count):
    """Six keys; the echo comes back when the request is whole."""
    for _ in range(count):
        for _ in range(6):
            sock.send(b"k" * (REQUEST // 6))
            time.sleep(0.06)
        receive(sock, ANSWER)


def main(behaviour, port, count):
    with socket.create_connection(("127.0.0.1", port)) as sock:
        if behaviour == "nodelay":
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if behaviour in ("bulk", "typing"):
            {"bulk": bulk, "typing": typing}[behaviour](sock, count)
            print("[]")
        else:
            print(json.dumps(list(exchanges(sock, behaviour, count))))


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve(sys.argv[2])
    else:
        main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
