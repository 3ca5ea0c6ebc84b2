# SPDX-License-Identifier: MIT
"""Runs waits/wait_while_holding.c as a plain child, with this process as its peer."""

import hashlib
import os
import signal
import socket
import struct
import subprocess
import tempfile
import time
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from harness import bare_env, compile_c, is_loaded, preload_env, run, wait_until
from harness.newest_libc import newest_libc
from harness.strace import parse

from .rows import WINDOWLESS, surface

SOURCES = Path(__file__).resolve().parent
HELD = 16  # bytes: the time of the write, and a word to see in a trace
WORD = b"held...."
THE_ACT = '"the act begins"'
WINDOW_US = 100000
PATIENCE_S = 0.3  # more than any window, less than the client's sleep
START_S = 10.0  # for a busy machine; a healthy client ends sooner
_SEGMENTS_IN = 152  # offset of tcpi_data_segs_in in struct tcp_info


# A 32-bit program with 64-bit times calls the names of the rows ROW32.
TIMES_OF_64 = ("-D_TIME_BITS=64", "-D_FILE_OFFSET_BITS=64")


def program(*flags):
    """The client program, compiled once."""
    acts = sorted(source for source in SOURCES.glob("*.c")
                  if source.stem != "wait_while_holding")
    digest = hashlib.sha256(b"".join(source.read_bytes() for source in acts)).hexdigest()[:12]
    return compile_c(SOURCES / "wait_while_holding.c", "-fno-builtin", f'-DACTS="{digest}"', *flags,
                     *[str(source) for source in acts])


@lru_cache(maxsize=None)
def absent():
    """The names of the surface that this libc lacks."""
    files = run([program(), "where", *surface()], bare_env()).stdout.splitlines()
    return {name for name, file in zip(surface(), files) if file == "nowhere"}


def needs(name):
    """Skips the test of a name that no libc here has."""
    if name in absent():
        newest_libc()


def _client(name, *flags):
    """The client; for a name that this libc lacks, with the newest one."""
    argv = [program(*flags)]
    return newest_libc().runs(argv) if name in absent() else argv


def answers(name, env):
    """The file that answers for the name in a program started with `env`, or `nowhere`."""
    return run([*_client(name), "where", name], env).stdout.strip()


@dataclass
class Outcome:
    """The peer's record of the client's act."""
    data: bytes = b""
    late_ms: float = None  # from the write to the arrival; None: they never came, or not first
    segments: int = 0
    stdout: str = ""
    stderr: str = ""
    calls: list = field(default_factory=list)  # of the acting thread, from the act on
    queries: list = field(default_factory=list)  # getsockopt of any thread, at any time

    @property
    def lost(self):
        return len(self.data) < HELD


class _Child:
    """The client process, by a handle that no other process can come to bear."""

    def __init__(self, argv, env, cwd, log=None):
        if log:
            settings = []
            for name in sorted(set(env) | set(os.environ)):
                if env.get(name) != os.environ.get(name):
                    settings += ["-E", f"{name}={env[name]}" if name in env else name]
            argv, env = ["strace", "-f", "-s", "64", "-o", log, *settings, "--", *argv], None
        self.process = subprocess.Popen(argv, env=env, cwd=cwd, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.handle = None

    def is_at(self, pid):
        self.handle = os.pidfd_open(pid)

    def end(self, kill):
        """Its output; `kill` ends it now, else it has to end by itself."""
        if kill and self.handle is not None:
            try:
                signal.pidfd_send_signal(self.handle, signal.SIGKILL)
            except ProcessLookupError:
                pass
        if self.handle is not None:
            os.close(self.handle)
            self.handle = None
        try:
            return self.process.communicate(timeout=START_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.communicate()
            raise


def _segments(connection):
    info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
    return struct.unpack_from("=I", info, _SEGMENTS_IN)[0]


def _meet(child, port, listener):
    """The connection with the client, in either direction."""
    if port.isdigit():
        return listener.accept()[0]
    line = child.process.stdout.readline()
    return socket.create_connection(("127.0.0.1", int(line.split()[1])), timeout=START_S)


def _hear(child, connection):
    """Eight bytes of the client."""
    heard = b""
    while len(heard) < 8:
        more = connection.recv(8 - len(heard))
        if not more:
            raise RuntimeError(f"the client ended early: {child.end(True)}")
        heard += more
    return heard


def _greet(child, connection, preloaded, bursts):
    """Make the exchanges before the act.  Returns the segments that came until then."""
    pid, = struct.unpack("=q", _hear(child, connection))
    child.is_at(pid)
    if preloaded and not is_loaded(pid):
        raise RuntimeError("the library is not loaded in the client")
    for _ in range(bursts):
        connection.sendall(b"hello")
        _hear(child, connection)
    segments = _segments(connection)
    connection.sendall(b"hello")
    return segments


def _listen_for_held(connection, expected, outcome):
    """Take up to `expected` bytes, as many as come while the client waits."""
    begun = time.monotonic()
    while len(outcome.data) < expected:
        left = begun + PATIENCE_S - time.monotonic()
        if left <= 0:
            return
        connection.settimeout(left)
        try:
            more = connection.recv(4096)
        except (socket.timeout, ConnectionResetError):
            return
        now = time.monotonic_ns()
        if not more:
            return
        outcome.data += more
        if outcome.late_ms is None and outcome.data[8:HELD] == WORD:
            written, = struct.unpack_from("=q", outcome.data)
            outcome.late_ms = (now - written) / 1e6


def perform(act, mode=None, library=None, *, expected=HELD, bursts=0, window_us=WINDOW_US,
            polling=False, beside=False, thread=None, trace=False, to_the_end=False, origin=None, flags=()):
    """Have the client perform `act` with bytes held, and return its peer's record.

    Without `mode` the client runs bare.  The client is ended as soon as the bytes are there
    (or are not coming), unless it runs `to_the_end`.
    """
    thread = thread or ("own" if act in WINDOWLESS else "always")
    env = preload_env(mode, library, UNSTALL_WINDOW_US=window_us,
                      UNSTALL_THREAD=thread) if mode else bare_env()
    outcome = Outcome()
    with tempfile.TemporaryDirectory(prefix="unstall-waits-") as folder, \
            socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(START_S)
        port = origin or str(listener.getsockname()[1])
        log = os.path.join(folder, "trace") if trace else None
        argv = [*map(str, _client(act, *flags)), port, act, str(bursts), *(["polling"] if polling else []),
                *(["beside"] if beside else [])]
        child = _Child(argv, env, folder, log)
        with _meet(child, port, listener) as connection:
            connection.settimeout(START_S)
            before = _greet(child, connection, bool(mode), bursts)
            if trace:
                _await_the_act(log)
            _listen_for_held(connection, expected, outcome)
            outcome.segments = _segments(connection) - before
            if trace:
                time.sleep(0.05)  # so that the wait itself is entered and seen
            outcome.stdout, outcome.stderr = child.end(not to_the_end)
        if trace:
            calls, _ = parse(Path(log).read_text(encoding="utf-8", errors="replace"))
            outcome.calls = _since_the_act(calls)
            outcome.queries = [call for call in calls if call.name == "getsockopt"]
    return outcome


def _await_the_act(log):
    """strace may be late."""
    if not wait_until(lambda: THE_ACT in Path(log).read_text(encoding="utf-8", errors="replace"), START_S):
        raise RuntimeError("the trace does not show the act")


def _since_the_act(calls):
    for at, call in enumerate(calls):
        if call.name == "write" and call.has(THE_ACT):
            return [each for each in calls[at + 1:] if each.pid == call.pid]
    raise RuntimeError("the trace does not show the act")
