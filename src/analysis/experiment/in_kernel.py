# SPDX-License-Identifier: MIT
"""An experiment without the library: the BPF programs of `unstall attach` give the arms and measure.

`unstall attach --arms` carries it: it prints a line of JSON every half second, in the words of
`unstall report --json`, and puts all sockets back at its end.
"""

import contextlib
import json
import os
import signal
import subprocess
import tempfile
import time

from experiment import processes, stats_files
from record.results import BadFile

LIBRARY = "libunstall.so"
END_S = 60.0  # the longest that it may take to put all sockets back


def has_library(pid):
    """True if a process or one of its descendants has the library; BadFile if it cannot be looked at."""
    for member in processes.with_descendants(pid):
        try:
            if any(os.path.basename(path).startswith(LIBRARY) for path in stats_files.mapped_files(member)):
                return True
        except BadFile:
            if member == pid:
                raise
    return False


class Carrier:
    """The running command, as a context manager: at the end of the context it has put all back."""

    def __init__(self, options, words):
        self.argv = [options.unstall, "attach", *options.target, *words]
        self.name, self.target = " ".join(options.target), options.target[-1]
        self.process = {"pid": options.pid or "kernel", "started_ns": time.time_ns(), "rows": [],
                        "connections": []}
        self.existed = self.missed = 0
        self._child, self._rest, self._open = None, b"", True
        self._errors = tempfile.TemporaryFile()

    def __enter__(self):
        self._child = subprocess.Popen(self.argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                       stderr=self._errors, start_new_session=True,
                                       env=stats_files.quiet_environment())
        try:
            while self._open and not self.process["rows"]:
                self._receive(END_S)
            if not self.process["rows"]:
                if self._child.wait() < 0:
                    raise BadFile(self._not_put_back())
                why = (self.complaints() or ["ended"])[-1]
                raise BadFile(why if self.target in why else f"{self.name}: without the library: {why}")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        """It tells its last news and puts all back.  A signal of ours does not interrupt that."""
        with processes.uninterrupted():
            with contextlib.suppress(ProcessLookupError):
                self._child.send_signal(signal.SIGINT)
            end = time.monotonic() + END_S
            while self._open and time.monotonic() < end:
                self._receive(1)
            self._child.stdout.close()
            self._child.wait()

    def look(self):
        """The new values, in the form of `stats_files.report`."""
        told = dict(self.process)
        self.process["connections"] = []
        return [told]

    def ended(self, wait):
        """Read for `wait` seconds; True if there is no more to come."""
        end = time.monotonic() + wait
        while self._open and (left := end - time.monotonic()) > 0:
            self._receive(left)
        return not self._open

    def complaints(self):
        """The lines on its standard error, without its name."""
        self._errors.seek(0)
        text = self._errors.read().decode(errors="replace")
        return [line.removeprefix("unstall attach: ") for line in text.splitlines()]

    def hints(self):
        """The notes for the user at the end."""
        found = self.complaints()
        if self._child and self._child.returncode:
            found.append(self._not_put_back())
        if self.missed:
            found.append(f"{self.missed} connections had no room in the kernel, and no arm")
        return found

    def _not_put_back(self):
        return f"the sockets were not put back; do it: unstall detach {self.name}"

    def _receive(self, wait):
        if not processes.wait_for(self._child.stdout, wait):
            return
        more = os.read(self._child.stdout.fileno(), 1 << 20)
        self._open = bool(more)
        *lines, self._rest = (self._rest + more).split(b"\n")
        for line in lines:
            told = json.loads(line)
            self.existed, self.missed = told["existed"], told["missed"]
            self.process["rows"] = told["rows"]
            self.process["connections"] += told["connections"]
