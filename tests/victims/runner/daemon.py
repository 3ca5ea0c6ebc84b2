# SPDX-License-Identifier: MIT
"""Starts a server on a free loopback port, waits until it serves, and ends it with its children."""

import os
import signal
import socket
import subprocess
import time

from harness import descriptors_of

_START_SECONDS = 60
_END_SECONDS = 20
_LISTEN = "0A"


def free_port():
    """A port without a listener a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _listeners(port):
    """The sockets that listen on `port`, as /proc/PID/fd names them.

    The kernel is asked: a connection made to find out would be a guest that the server counts.
    """
    found = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        if not os.path.exists(table):
            continue
        with open(table, encoding="ascii") as lines:
            for fields in map(str.split, list(lines)[1:]):
                if fields[3] == _LISTEN and int(fields[1].rpartition(":")[2], 16) == port:
                    found.add(f"socket:[{fields[9]}]")
    return found


def _children(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as text:
            return [int(child) for child in text.read().split()]
    except FileNotFoundError:
        return []


def _targets(pid):
    """The targets of a process's descriptors; none, if it has just ended."""
    try:
        return set(descriptors_of(pid).values())
    except OSError:
        return set()


class Daemon:
    """A server in the foreground, as a context manager.

    `command` is a function of the port that gives the argument list.  The server is the leader of
    a process group of its own, so that its children end with it.  `ready` is the word in its log by which a
    server that listens before it can answer says that it serves.
    """

    def __init__(self, command, env, scratch, name="daemon", start_seconds=_START_SECONDS, ready=""):
        self._command, self._env, self._start_seconds = command, env, start_seconds
        self._scratch, self._log, self._ready = scratch, scratch / f"{name}.log", ready
        self._process = None
        self.port = None

    @property
    def pid(self):
        return self._process.pid

    def log(self):
        """Its output so far."""
        return self._log.read_text("utf-8", "replace")

    def processes(self):
        """The server's process and all that descend from it."""
        found, todo = [], [self.pid]
        while todo:
            found.append(todo.pop())
            todo += _children(found[-1])
        return found

    def wait_for_children(self):
        """Until all that it started have ended by themselves."""
        deadline = time.monotonic() + _END_SECONDS
        while len(self.processes()) > 1:
            assert time.monotonic() < deadline, f"{self.processes()[1:]} have not ended"
            time.sleep(0.01)

    def _listens(self):
        """Whether the port is open, and not a stranger's."""
        sockets = _listeners(self.port)
        return sockets and any(not sockets.isdisjoint(_targets(pid)) for pid in self.processes())

    def _start(self):
        self.port = free_port()
        argv = [str(word) for word in self._command(self.port)]
        with open(self._log, "wb") as log:
            self._process = subprocess.Popen(argv, env=self._env, cwd=self._scratch, stdout=log,
                                             stdin=subprocess.DEVNULL, stderr=log,
                                             start_new_session=True)
        deadline = time.monotonic() + self._start_seconds
        while time.monotonic() < deadline and self._process.poll() is None:
            if self._listens() and self._ready in self.log():
                return True
            time.sleep(0.01)
        return False

    def __enter__(self):
        # Between the search for a free port and its use another program may have taken it.
        for _ in range(3):
            if self._start():
                return self
            self._end()
        raise AssertionError(f"{self._command(0)} does not serve:\n{self.log()}")

    def _end(self):
        for number in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(self.pid, number)
            except ProcessLookupError:
                break
            try:
                self._process.wait(_END_SECONDS)
            except subprocess.TimeoutExpired:
                pass
        self._process.wait()

    def __exit__(self, *_):
        self._end()
