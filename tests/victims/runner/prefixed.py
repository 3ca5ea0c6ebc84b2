# SPDX-License-Identifier: MIT
"""A Daemon behind a command prefix (strace)."""

import contextlib
import time
from pathlib import Path

from harness import wait_until

from .driver import Driver


def prefixed(daemon, prefix, env):
    """The same daemon, its command behind `prefix`."""
    plain = daemon._command  # pylint: disable=protected-access

    def command(port):
        return [*prefix, "--", *plain(port)]

    daemon._command, daemon._env = command, env  # pylint: disable=protected-access
    return daemon


def _has_connection(port):
    """Whether a process has a connection of this port open: ESTABLISHED or CLOSE_WAIT (proc(5), net/tcp)."""
    rows = [line.split() for line in Path("/proc/net/tcp").read_text("ascii").splitlines()[1:]]
    return any(row[1].endswith(f":{port:04X}") and row[3] in ("01", "08") for row in rows)


@contextlib.contextmanager
def driven(daemon, prefix, env):
    """A Driver of the daemon behind `prefix`.  In the end the server gets time for its work after the last
    answer.
    """
    with prefixed(daemon, prefix, env) as server:
        with Driver(server.port) as driver:
            yield driver
        assert wait_until(lambda: not _has_connection(server.port), 60)
        time.sleep(0.1)
