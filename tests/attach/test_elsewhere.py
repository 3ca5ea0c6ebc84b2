# SPDX-License-Identifier: MIT
"""unstall attach and ab --live where the other end is in a network namespace behind a veth pair."""

import contextlib
import statistics
import sys
import threading
from pathlib import Path

import pytest
from attachments import attached
from unreached import CURED_MS, ENOUGH, TRIES, wait_until

from harness import COMMAND, STALL_MS, started, two_namespaces, within

sys.path.insert(0, str(Path(__file__).parents[1] / "experiments"))

from trial import EVEN, ab, measured  # noqa: E402

PYTHON = ("/usr/bin/python3", "-S", "-u", "-c")
RECEIVER = """
import socket, threading
def answer(s):
    while s.recv(200, socket.MSG_WAITALL):
        s.sendall(b"r" * 200)
listener = socket.create_server(("10.78.0.2", 7000))
print("listens")
while True:
    threading.Thread(target=answer, args=(listener.accept()[0],), daemon=True).start()
"""
# Tells the ms of each exchange; a new connection after so many of them.
SENDER = """
import socket, sys, time
while True:
    with socket.create_connection(("10.78.0.2", 7000)) as s:
        for _ in range(int(sys.argv[1])):
            begin = time.monotonic()
            s.send(b"p" * 100)
            s.send(b"p" * 100)
            s.recv(200, socket.MSG_WAITALL)
            print((time.monotonic() - begin) * 1000)
            time.sleep(0.002)
"""


class Two:
    """A sender and its receiver."""

    def __init__(self, stack, exchanges):
        self.told = []
        near, far = two_namespaces(stack, "10.78.0")
        self.receiver = started(stack, *within(far, *PYTHON, RECEIVER))
        assert self.receiver.stdout.readline() == "listens\n"
        self.sender = started(stack, *within(near, *PYTHON, SENDER, exchanges))
        reader = threading.Thread(target=self._read, daemon=True)
        reader.start()
        stack.callback(reader.join, 10)
        stack.callback(self.sender.kill)

    def _read(self):
        for line in self.sender.stdout:
            self.told.append(float(line))

    def median(self):
        begin = len(self.told) + 2
        assert wait_until(lambda: len(self.told) >= begin + ENOUGH), "the sender says nothing"
        return statistics.median(self.told[begin:])

    def takes(self, judge):
        return any(judge(self.median()) for _ in range(TRIES))


@contextlib.contextmanager
def apart(exchanges=1_000_000):
    with contextlib.ExitStack() as stack:
        yield Two(stack, exchanges)


@pytest.mark.parametrize("mode", ["always", "proof"])
@pytest.mark.parametrize("where", ["here", "beside"])
def test_a_sender_is_cured_and_put_back(mode, where):
    """From the host, and from within the namespace of the sender."""
    with apart() as two:
        assert two.takes(lambda ms: ms > STALL_MS)
        command = within(two.sender, COMMAND) if where == "beside" else [COMMAND]
        with attached(two.sender.pid, "--mode", mode, command=command) as a:
            assert two.takes(lambda ms: ms < CURED_MS)
            assert a.end() == 0
        assert "put back; 1 connection had been cured" in a.said
        assert two.takes(lambda ms: ms > STALL_MS)


@pytest.mark.parametrize("where", ["here", "beside"])
def test_a_receiver_shortens_the_stalls_of_a_sender_elsewhere(where):
    with apart() as two:
        command = within(two.receiver, COMMAND) if where == "beside" else [COMMAND]
        with attached(two.receiver.pid, "--quickack", command=command) as a:
            assert two.takes(lambda ms: CURED_MS < ms < STALL_MS)
            assert a.end() == 0
        assert "acknowledgements of 1 connection had been hastened" in a.said
        assert two.takes(lambda ms: ms > STALL_MS)


def test_an_experiment_with_the_sender_finds_the_stall(tmp_path):
    with apart(12) as two:
        done = ab("--live", two.sender.pid, *EVEN, "--until-sure", "--min-exchanges", 8, "--time", 60,
                  "--json", tmp_path / "r.json")
    assert done.returncode == 0 and "nodelay wins" in done.stdout, done.stdout + done.stderr
    units = measured(tmp_path / "r.json")["units"]
    assert all(unit["stalls"] == 0 for unit in units if unit["arm"] == "nodelay")
    assert any(unit["stalls"] for unit in units if unit["arm"] == "off")


def test_an_experiment_with_the_receiver_finds_no_difference_by_its_own_option():
    """Its answers are one write: TCP_NODELAY at this end changes nothing."""
    with apart(12) as two:
        done = ab("--live", two.receiver.pid, *EVEN, "--min-exchanges", 5, "--time", 4, "--confidence", 99.9)
    assert done.returncode in (0, 2) and "wins" not in done.stdout, done.stdout + done.stderr
