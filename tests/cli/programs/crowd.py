# SPDX-License-Identifier: MIT
"""Many processes with many connections, of which some processes stall: crowd.py PROCESSES CONNECTIONS
STALLING.

Each process has both ends of its connections; most of them are idle, and one makes an exchange in a single
write every second. In the first STALLING processes one connection stalls again and again. Prints "ready PID
PID..." with the ids of these, and ends with its input.
"""

import os
import signal
import socket
import sys
import threading
import time


def answer(sock):
    while True:
        got = 0
        while got < 300:
            part = len(sock.recv(300 - got))
            if not part:
                return
            got += part
        sock.send(b"r" * 200)


def exchange(sock, *pieces):
    for piece in pieces:
        sock.send(b"p" * piece)
    got = 0
    while got < 200:
        got += len(sock.recv(200 - got))


def one_process(connections, stalls):
    listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
    pairs = []
    for _ in range(connections):
        near = socket.create_connection(listener.getsockname())
        pairs.append((near, listener.accept()[0]))
    threading.Thread(target=answer, args=(pairs[0][1],), daemon=True).start()
    sys.stdout.write(".")
    sys.stdout.flush()
    while os.getppid() == PARENT:
        if stalls:
            exchange(pairs[0][0], 200, 100)
        else:
            exchange(pairs[0][0], 300)
            time.sleep(1)


PARENT = os.getpid()
processes, total, stalling = map(int, sys.argv[1:])
children = []
reading, writing = os.pipe()
for number in range(processes):
    child = os.fork()
    if child == 0:
        os.close(reading)
        os.dup2(writing, 1)
        try:
            one_process(total // processes, number < stalling)
        finally:
            os._exit(0)
    children.append(child)
os.close(writing)
ready = 0
while ready < processes:
    ready += len(os.read(reading, 1000))
print("ready", *children[:stalling], flush=True)
sys.stdin.read()
for child in children:
    os.kill(child, signal.SIGKILL)
for child in children:
    os.waitpid(child, 0)
