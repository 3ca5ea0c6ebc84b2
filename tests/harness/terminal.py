# SPDX-License-Identifier: MIT
"""A shell at a terminal of its own."""

import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time

_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>()][0-9A-Z]?|\r|\x07")
_PATIENCE_S = 30


class ShellTerminal:
    """What the shell and its programs have shown, and nobody has read yet, is in `shown`."""

    def __init__(self, argv, env, cwd="."):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(cwd)
            os.execve(argv[0], argv, env)
        self.shown = ""
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("4H", 300, 120, 0, 0))

    def type(self, text):
        os.write(self.fd, text.encode())

    def until(self, mark):
        """Reads up to this text, and gives what came before."""
        due = time.monotonic() + _PATIENCE_S
        while mark not in self.shown:
            ready, _, _ = select.select([self.fd], [], [], max(0, due - time.monotonic()))
            assert ready, f"{mark!r} does not come:\n{self.shown}"
            self.shown += _ESCAPES.sub("", os.read(self.fd, 65536).decode(errors="replace"))
        seen, self.shown = self.shown.split(mark, 1)
        return seen

    def end(self):
        os.close(self.fd)  # its processes get SIGHUP
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
