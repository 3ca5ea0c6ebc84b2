# SPDX-License-Identifier: MIT
"""unstall attach: a socket that is disconnected while it is cured has its own values back."""

import contextlib
import subprocess
import sys

import pytest
from attachments import attached
from running import carrying
from unreached import answer

from harness import STALL_MS, Peer, unstall

# A client with one socket.  It obeys lines: a number connects to this port, "talk" makes twenty exchanges,
# "off" disconnects, "0" and "1" after "set" set TCP_NODELAY.  After each line it tells TCP_NODELAY, the
# longest delay of its acknowledgements in µs, and the median of the exchanges in ms.
CLIENT = """
import ctypes, socket, statistics, sys, time
NODELAY, DELACK_MAX_US = (socket.IPPROTO_TCP, socket.TCP_NODELAY), (socket.IPPROTO_TCP, 46)
one = socket.socket()
def exchange():
    begin = time.monotonic()
    one.send(b"q" * 100)
    one.send(b"q" * 100)
    one.recv(200, socket.MSG_WAITALL)
    return (time.monotonic() - begin) * 1000
print("ready", flush=True)
for line in sys.stdin:
    word, median = line.split()[0], 0.0
    if word.isdigit():
        one.connect(("127.0.0.1", int(word)))
    elif word == "talk":
        median = statistics.median(exchange() for _ in range(20))
    elif word == "off":
        ctypes.CDLL(None).connect(one.fileno(), b"\\0" * 16, 16)
    elif word == "set":
        one.setsockopt(*NODELAY, int(line.split()[1]))
    print(one.getsockopt(*NODELAY), one.getsockopt(*DELACK_MAX_US), median, flush=True)
"""


class Client:
    """It, and its peer."""

    def __init__(self, stack):
        self.port = stack.enter_context(Peer(answer)).port
        self.process = subprocess.Popen([sys.executable, "-S", "-c", CLIENT], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True, bufsize=1)
        stack.callback(self.process.communicate)
        stack.callback(self.process.kill)
        assert self.process.stdout.readline() == "ready\n"

    def does(self, words):
        """TCP_NODELAY, as it reads it back, and the median of its exchanges; .delay_us is set."""
        self.process.stdin.write(f"{words}\n")
        value, self.delay_us, median = map(float, self.process.stdout.readline().split())
        return int(value), float(median)

    def is_cured(self):
        return any(self.does("talk")[1] < STALL_MS for _ in range(5))

    def stalls(self):
        return any(self.does("talk")[1] > STALL_MS for _ in range(5))


@pytest.fixture
def client():
    with contextlib.ExitStack() as stack:
        yield Client(stack)


@pytest.mark.parametrize("mode", ["always", "proof"])
@pytest.mark.parametrize("first", ["before", "meanwhile"])
def test_disconnected_before_the_end_it_has_its_own_value(client, mode, first):
    """It kept TCP_NODELAY: no walk over the connections finds a socket without one."""
    if first == "before":
        client.does(client.port)
    with attached(client.process.pid, "--mode", mode):
        if first == "meanwhile":
            client.does(client.port)
        assert client.is_cured()
        assert client.does("off") == (0, 0)
    assert client.does("read") == (0, 0)
    client.does(client.port)
    assert client.stalls()


@pytest.mark.parametrize("mode", ["always", "proof"])
def test_connected_again_it_is_cured_again_and_put_back(client, mode):
    with attached(client.process.pid, "--mode", mode) as a:
        for _ in range(3):
            client.does(client.port)
            assert client.is_cured()
            assert client.does("off") == (0, 0)
        client.does(client.port)
        assert client.is_cured()
        assert a.end() == 0
    assert "put back; 4 connections had been cured" in a.said
    assert client.does("read") == (0, 0) and client.stalls()


@pytest.mark.parametrize("mode", ["always", "proof"])
def test_what_the_program_has_set_stays(client, mode):
    with attached(client.process.pid, "--mode", mode):
        client.does(client.port)
        assert client.is_cured()
        assert client.does("set 1") == (1, 0)
        assert client.does("off") == (1, 0)
    assert client.does("read") == (1, 0)


def test_in_an_experiment(client):
    with carrying(client.process.pid) as carrier:
        carrier.stdout.readline()
        client.does(client.port)
        assert client.is_cured()
        client.does("off")
        assert unstall("detach", client.process.pid).returncode == 0
        carrier.communicate(timeout=60)
    assert client.does("read") == (0, 0)


def test_the_delay_of_acknowledgements_is_short_again_when_connected_again(client):
    """The kernel forgets it at the disconnect, and the second connection did not get it."""
    with attached(client.process.pid, "--quickack"):
        for _ in range(2):
            client.does(client.port)
            assert client.delay_us < 40000
            client.does("off")
            assert client.delay_us == 200000
    client.does(client.port)
    assert client.delay_us == 200000
