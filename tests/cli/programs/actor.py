# SPDX-License-Identifier: MIT
"""A program with both ends of one connection: actor.py KIND SECONDS [RATE [waits]].

Prints "port PORT" first, and "exchanges N" at its end.  With `waits` it begins once it has read a line.  RATE
is the most exchanges a second; 0: as many as it can.  KIND is a key of KINDS; only `stall` makes the stalls
of Nagle's algorithm against delayed acknowledgements.
"""

import ctypes
import socket
import struct
import sys
import threading
import time

from explain_peers import bytes_held, receive

THINK = 0.044  # as long as a stall
SO_MAX_PACING_RATE, SO_ATTACH_FILTER, SO_DETACH_FILTER = 47, 26, 27  # not named by Python's socket
CA_LOSS = 4  # tcpi_ca_state: a timeout is repaired
RETURN_0 = ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0))  # a packet of which 0 bytes pass
DROP_ALL = struct.pack("HL", 1, ctypes.addressof(RETURN_0))  # struct sock_fprog of linux/filter.h


def answer(sock, request=300, think=0.0):
    """The other end: each request is answered with 200 bytes."""
    while receive(sock, request):
        time.sleep(think)
        sock.sendall(b"r" * 200)


def drain(sock, wait=0.0, at_most=65536):
    while sock.recv(at_most):
        time.sleep(wait)


def pause(rate):
    if rate:
        time.sleep(1 / rate)


def exchange(sock, rate, *pieces):
    for piece in pieces:
        sock.send(b"p" * piece)
    receive(sock, 200)
    pause(rate)


def corked(sock, _rate):
    """Holds a message back on purpose for half as long as a stall takes, while something is in flight."""
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.send(b"p" * 100)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)
    sock.send(b"p" * 100)
    time.sleep(THINK / 2)
    sock.send(b"p" * 100)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 0)
    receive(sock, 200)


def lost(sock, _rate):
    """Sends a small message again, because all that comes is dropped for longer than a timeout (200 ms)."""
    sock.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, DROP_ALL)
    sock.send(b"p" * 300)
    time.sleep(0.5)
    sock.setsockopt(socket.SOL_SOCKET, SO_DETACH_FILTER, 0)
    receive(sock, 200)


def lost_behind(sock, _rate):
    """A small message waits behind one that is sent again, until the loss is repaired."""
    sock.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, DROP_ALL)
    sock.send(b"p" * 200)
    while sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 8)[1] != CA_LOSS:
        time.sleep(0.01)
    sock.send(b"p" * 100)
    sock.setsockopt(socket.SOL_SOCKET, SO_DETACH_FILTER, 0)
    receive(sock, 200)


def nodelay(sock, rate):
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    exchange(sock, rate, 200, 100)


def one_way(sock, _rate):
    sock.send(b"p" * 30)
    time.sleep(0.005)


def paced(sock, _rate):
    sock.setsockopt(socket.SOL_SOCKET, SO_MAX_PACING_RATE, 20000)
    sock.sendall(b"p" * 700)
    sock.sendall(b"p" * 300)


def behind_a_fin(sock, _rate):
    """Whether it stalled."""
    sock.send(b"x" * 20)
    sock.send(b"y" * 20)
    time.sleep(0.02)
    stalled = bytes_held(sock) > 0
    time.sleep(0.08)
    return stalled


def half_close(sock):
    sock.shutdown(socket.SHUT_WR)
    drain(sock, 0.1)


# the repeated calls of one end, and the other's answer
KINDS = {
    "stall": (lambda sock, rate: exchange(sock, rate, 200, 100), answer),
    "single": (lambda sock, rate: exchange(sock, rate or 200, 300), answer),
    "nodelay": (lambda sock, rate: nodelay(sock, rate or 200), answer),
    "thinks": (lambda sock, rate: exchange(sock, rate, 300), lambda sock: answer(sock, think=THINK)),
    "bulk": (lambda sock, rate: sock.sendall(b"b" * 100000) or pause(rate or 500), drain),
    "slow-reader": (lambda sock, rate: sock.sendall(b"b" * 700), lambda sock: drain(sock, 0.01, 500)),
    "corked": (corked, answer),
    "lost": (lost, answer),
    "lost-behind": (lost_behind, answer),
    "one-way": (one_way, drain),
    "paced": (paced, drain),
    "behind-a-fin": (behind_a_fin, half_close),
}


def main(kind, seconds, rate="0", begins="", port="0", own_port="0"):
    act, other = KINDS[kind]
    listener = socket.create_server(("127.0.0.1", int(port)))
    if kind == "slow-reader":
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    near = socket.create_connection(listener.getsockname(), source_address=("127.0.0.1", int(own_port)))
    far, _ = listener.accept()
    threading.Thread(target=other, args=(far,), daemon=True).start()
    print(f"port {listener.getsockname()[1]}", flush=True)
    if begins == "waits":
        sys.stdin.readline()
    end, count = time.monotonic() + float(seconds), 0
    near.settimeout(1)
    while time.monotonic() < end:
        try:
            count += act(near, float(rate)) is not False
        except TimeoutError:
            pass
    print(f"exchanges {count}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
