# SPDX-License-Identifier: MIT
"""Posts header and body by two sends over one connection and prints its results as JSON.

Arguments: port, exchanges.
"""

import json
import socket
import struct
import sys
import time

PORT, EXCHANGES = map(int, sys.argv[1:])
BODY = b"x" * 100
HEADER = (b"POST /order HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/octet-stream\r\n"
          b"Content-Length: %d\r\n\r\n" % len(BODY))
ANSWER_END = b"length %d\n" % len(BODY)


def data_segments_out(sock):
    return struct.unpack_from("=I", sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256), 156)[0]


def main():
    times, answers, counts = [], set(), []
    with socket.create_connection(("127.0.0.1", PORT), 10) as sock:
        for _ in range(EXCHANGES):
            begin = time.monotonic_ns()
            sock.send(HEADER)
            sock.send(BODY)
            answer = b""
            while not answer.endswith(ANSWER_END):
                piece = sock.recv(65536)
                if not piece:
                    sys.exit(f"the server hung up after {answer!r}")
                answer += piece
            times.append((time.monotonic_ns() - begin) / 1e6)
            answers.add(answer.partition(b"\r\n")[0].decode())
            counts.append(data_segments_out(sock))
    with open("/proc/self/maps", encoding="utf-8") as maps:
        mapped = sorted({line.split()[-1] for line in maps if ".so" in line})
    json.dump({"times_ms": times, "answers": sorted(answers), "counts": counts, "mapped": mapped}, sys.stdout)


main()
