# SPDX-License-Identifier: MIT
"""Programs that talk when the test says so, started by `unstall run`, and one that talks on and on."""

import contextlib
import json
import socket
import statistics
import subprocess
import threading
from pathlib import Path

from harness import COMMAND, WARM, AnsweringPeer, bare_env, preload_env, spawned

TALKER = Path(__file__).parent / "programs/talker.py"
STALLER = TALKER.with_name("staller.py")
TRIES = 5


def typical(milliseconds):
    """The lower quartile of a connection's exchanges, without the first ones, which never stall.

    Of stalling ones it is some 40 ms under any load; of others it is far below 20 ms, also if a busy machine
    slows some of them, and so the median.
    """
    return statistics.quantiles(milliseconds[WARM:], n=4)[0]


class Talker:
    """One such program, and its measurements."""

    def __init__(self, process):
        self.process = process
        self.pid = process.pid

    def begin(self, exchanges):
        self.process.stdin.write(f"{exchanges}\n")
        assert self.process.stdout.readline() == "begun\n"

    def times(self):
        """The milliseconds of the exchanges begun."""
        return json.loads(self.process.stdout.readline())

    def talk(self, exchanges=10):
        """The typical time of an exchange, in milliseconds."""
        self.begin(exchanges)
        return typical(self.times())

    def stalls(self):
        """Whether it does: where the machine pauses between two writes, not at once, but soon."""
        return any(self.talk() > 20 for _ in range(TRIES))

    def end(self):
        self.process.stdin.close()
        assert self.process.wait(20) == 0


@contextlib.contextmanager
def started_talker(*options, bare=False, **popen):
    """A talker with its peer; `options` are for `unstall run`."""
    start = [] if bare else [COMMAND, "run", *options, "--"]
    with AnsweringPeer() as peer:
        words = [*start, "/usr/bin/python3", "-S", TALKER, *peer.target]
        with spawned(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=1, **popen) as process:
            yield Talker(process)


@contextlib.contextmanager
def staller(folder, peer, how="", mode="observe", program=STALLER, **popen):
    """A Python client that stalls for ever, or has made `how` exchanges and waits (programs/staller.py)."""
    popen.setdefault("env", preload_env(mode, UNSTALL_STATS=folder))
    with spawned(["/usr/bin/python3", program, *peer.target, str(how)], stdin=subprocess.PIPE,
                 stdout=subprocess.PIPE, **popen) as process:
        assert ("done\n" if str(how).isdigit() else "ready\n") in iter(process.stdout.readline, "")
        yield process


@contextlib.contextmanager
def talking_server(*command, env=None, cwd=None, asked=10, answer=300):
    """A server that answers in two pieces, and a client that goes on asking, by so many bytes at once; the
    server's process."""
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env or bare_env(), cwd=cwd)
    stop = threading.Event()

    def ask(port):
        with socket.create_connection(("127.0.0.1", port), timeout=20) as client, \
                contextlib.suppress(OSError):
            while not stop.is_set():
                client.sendall(b"x" * asked)
                left = answer
                while left > 0:
                    got = len(client.recv(left))
                    if not got:
                        return
                    left -= got

    client = threading.Thread(target=ask, args=(int(server.stdout.readline()),))
    client.start()
    try:
        yield server
    finally:
        stop.set()
        client.join(30)
        server.kill()
        server.wait(10)
        server.stdout.close()
