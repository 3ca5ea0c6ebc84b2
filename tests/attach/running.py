# SPDX-License-Identifier: MIT
"""unstall ab --live in the background, and the command that carries it, for tests."""

import contextlib
import os
import signal
import subprocess
from pathlib import Path

from unreached import PINS, wait_until

from harness import COMMAND, bare_env

ALMOST_ALL = "nodelay:1000,off:1"
SEED = 1  # with it the first connections have nodelay; by a seed of chance one of 1001 has off


def pid_of(port):
    """The server that listens there: a child of ours."""
    return next(int(pid) for pid in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
                if f"\0{port}\0" in Path(f"/proc/{pid}/cmdline").read_text())


class Experiment:
    """An experiment in the background; `words` may have another seed."""

    def __init__(self, *words, tell=PINS):
        command = [COMMAND, "ab", "--live", "--seed", SEED, *words]
        self.process = subprocess.Popen([*map(str, command)], env=bare_env(), text=True,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.out = self.err = ""
        assert wait_until(lambda: list(tell.glob("*/events")) or self.process.poll() is not None)
        assert wait_until(lambda: self.has_told() or self.process.poll() is not None)

    def carrier(self):
        """The id of its `unstall attach`."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        return next(int(pid) for pid in children if b"attach" in Path(f"/proc/{pid}/cmdline").read_bytes())

    def has_told(self):
        """Whether the carrier has written a line: what was there before it has its arm."""
        with contextlib.suppress(OSError, StopIteration):
            return "wchar: 0\n" not in Path(f"/proc/{self.carrier()}/io").read_text(encoding="ascii")
        return False

    def end(self, number=signal.SIGINT):
        if self.process.poll() is None:
            self.process.send_signal(number)
        self.out, self.err = self.process.communicate(timeout=60)
        return self.process.returncode


@contextlib.contextmanager
def experiment(*words):
    e = Experiment(*words)
    try:
        yield e
    finally:
        e.end()


def carrying(pid):
    """`unstall attach --arms` itself; its standard output is a small pipe."""
    words = [COMMAND, "attach", str(pid), "--arms", ALMOST_ALL, "--seed", str(SEED)]
    return subprocess.Popen(words, env=bare_env(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                            text=True, pipesize=4096)
