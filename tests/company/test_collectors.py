# SPDX-License-Identifier: MIT
"""Runtimes that stop threads by a signal (libgc), or leave its handler by their own unwinding (SBCL).

Both left a lock of the library behind, and other threads waited for it for ever.  torture/stopped.c meets the
library at each of its instructions.
"""

import socket
import subprocess
import threading
from contextlib import contextmanager
from pathlib import Path

import pytest

from harness import MODES, compile_c, mode_env

HERE = Path(__file__).parent / "programs"
ALL = ("bare", *MODES)
LIMIT = 60


@contextmanager
def reader():
    """A peer that reads until the end: its port, and what has come."""
    received = bytearray()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(LIMIT)  # nobody may come

        def read():
            try:
                connection, _ = listener.accept()
                connection.settimeout(LIMIT)
                with connection:
                    while some := connection.recv(65536):
                        received.extend(some)
            except OSError:  # nobody came, no end, or a reset
                pass

        thread = threading.Thread(target=read)
        thread.start()
        try:
            yield listener.getsockname()[1], received
        finally:
            thread.join()


def run(mode, words):
    try:
        done = subprocess.run([str(word) for word in words], env=mode_env(mode), timeout=LIMIT, check=False,
                              capture_output=True, text=True, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired as slow:
        return f"no end within {LIMIT} s: {slow.stdout}{slow.stderr}"
    return f"{done.returncode} {done.stdout}{done.stderr}"


@pytest.mark.parametrize("mode", ALL)
def test_a_collector_that_stops_the_world(mode):
    rounds = 1500
    program = compile_c(HERE / "collected.c", libraries=["gc"])
    with reader() as (port, received):
        said = run(mode, [program, "127.0.0.1", port, rounds])
    assert said.startswith("0 ") and said.endswith("collections\n")
    lines = bytes(received).split(b"\n")
    assert len(lines) == 2 * rounds + 1 and set(lines) == {b"." * 40, b""}


@pytest.mark.parametrize("mode", ALL)
def test_a_time_limit_of_lisp(mode):
    with reader() as (port, received):
        said = run(mode, ["sbcl", "--script", HERE / "time_limits.lisp", port, 600])
    assert said == "0 done\n"
    assert received.endswith(b"last\n")
    # a write that was left may have been made or not; none is torn or doubled: body stands behind head
    words = bytes(received).replace(b"other", b"").replace(b"head", b"h").replace(b"body\n", b"b")
    assert set(words.removesuffix(b"last\n")) <= set(b"hb") and b"bb" not in words
