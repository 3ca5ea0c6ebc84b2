#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""An ordinary HTTP client: posts a small form again and again over one connection.

    client.py PORT EXCHANGES

Header and body are two `send` calls, as in so many programs.  It knows nothing of unstall.  At its
end it prints the median and the 99th percentile of the exchanges in milliseconds, the first one
left out, and the data segments that it sent for each exchange.
"""

import socket
import statistics
import struct
import sys
import time

BODY = b"name=value&" * 9
HEADER = (b"POST /form HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: %d\r\n"
          b"Content-Type: application/x-www-form-urlencoded\r\n\r\n" % len(BODY))
DATA_SEGS_OUT = struct.Struct("156xI")  # of struct tcp_info, tcp(7)


def read_reply(connection):
    """Reads one reply: a header, and as many bytes as it announces."""
    reply = b""
    while b"\r\n\r\n" not in reply:
        piece = connection.recv(4096)
        if not piece:
            raise ConnectionError("the server has gone")
        reply += piece
    header, _, body = reply.partition(b"\r\n\r\n")
    if not header.startswith(b"HTTP/1.1 200 "):
        raise ValueError(header.decode())
    missing = int(header.lower().split(b"content-length:")[1].split()[0]) - len(body)
    while missing > 0:
        missing -= len(connection.recv(missing))


def main(port, exchanges):
    """Runs the exchanges and prints their times."""
    took = []
    with socket.create_connection(("127.0.0.1", port)) as connection:
        for _ in range(exchanges):
            begin = time.perf_counter()
            connection.send(HEADER)
            connection.send(BODY)
            read_reply(connection)
            took.append((time.perf_counter() - begin) * 1000)
        info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, DATA_SEGS_OUT.size)
    took = sorted(took[1:])
    segments = DATA_SEGS_OUT.unpack(info)[0] / exchanges
    print(f"{statistics.median(took):.3f} {took[len(took) * 99 // 100]:.3f} {segments:.2f}")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
