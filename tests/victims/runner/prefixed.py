# SPDX-License-Identifier: MIT
"""A Daemon behind a command prefix (strace)."""

import contextlib
import time

from .driver import Driver


def prefixed(daemon, prefix, env):
    """The same daemon, its command behind `prefix`."""
    plain = daemon._command  # pylint: disable=protected-access

    def command(port):
        return [*prefix, "--", *plain(port)]

    daemon._command, daemon._env = command, env  # pylint: disable=protected-access
    return daemon


@contextlib.contextmanager
def driven(daemon, prefix, env, ready=None):
    """A Driver of the daemon behind `prefix`.

    `ready` is the word in its log that says that it serves.  In the end the server gets time for its work
    after the last answer.
    """
    with prefixed(daemon, prefix, env) as server:
        deadline = time.monotonic() + 10
        while ready and ready not in server.log() and time.monotonic() < deadline:
            time.sleep(0.02)
        with Driver(server.port) as driver:
            yield driver
        time.sleep(0.1)
