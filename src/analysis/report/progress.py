# SPDX-License-Identifier: MIT
"""The progress bar, on stderr if that is a terminal, and what happens when that is closed."""

import os
import shutil
import sys


class StandardError:
    """sys.stderr, where what it cannot take is dropped: SIGHUP tells of a terminal that has been closed, and
    the experiment then ends with its report, which may go to a file."""

    def __init__(self, stream):
        self.stream = stream

    def write(self, text):
        """As that of a stream."""
        try:
            self.stream.write(text)
            self.stream.flush()
        except OSError:
            # Python would write the rest when it ends, and fail again.
            os.dup2(os.open(os.devnull, os.O_WRONLY), self.stream.fileno())

    def flush(self):
        """As that of a stream: all has been written."""

    def isatty(self):
        """As that of a stream."""
        return self.stream.isatty()


class Progress:
    """Call it with a text, and with the number of steps done and in all."""

    def __init__(self, quiet=False):
        self.shown = sys.stderr.isatty() and not quiet
        self.length = 0

    def __call__(self, text, done=None, whole=None):
        if not self.shown:
            return
        width = min(80, shutil.get_terminal_size().columns) - 1
        line = text
        if whole:
            room = max(5, width - len(text) - 4)
            filled = min(room, room * done // whole)
            line = f"[{'=' * filled}{' ' * (room - filled)}] {text}"
        self._put(line[:width])

    def _put(self, line):
        sys.stderr.write("\r" + line + " " * (self.length - len(line)) + "\r")
        sys.stderr.flush()
        self.length = len(line)

    def clear(self):
        """Erase the bar."""
        if self.shown and self.length:
            self._put("")
            self.length = 0

    def note(self, text):
        """Print a line that stays."""
        self.clear()
        print(f"unstall ab: {text}", file=sys.stderr)
