# SPDX-License-Identifier: MIT
"""PostgreSQL buffers an answer in its own buffer and sets TCP_NODELAY."""

import os
import pwd
import struct
import subprocess
from pathlib import Path

from runner import Daemon, Well
from runner.prefixed import driven

READY = b"Z\0\0\0\5I"
_OFF = ("autovacuum", "track_activities", "track_counts", "synchronous_commit", "fsync")


def _folder():
    """Where Debian keeps the programs of the newest version."""
    return sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))[-1].parent


def _user():
    """The server refuses to be root: the user that it becomes, and the command that does so."""
    if os.geteuid() != 0:
        return None, []
    return pwd.getpwnam("nobody"), ["setpriv", "--reuid", "nobody", "--clear-groups"]


def drive(prefix, env, scratch):
    user, become = _user()
    data, home = scratch / "data", _folder()
    if user:
        scratch.chmod(0o755)
        data.mkdir()
        os.chown(data, user.pw_uid, -1)
    subprocess.run([*become, home / "initdb", "-D", data, "-U", "me", "-A", "trust", "--no-sync"], env=env,
                   check=True, cwd="/", capture_output=True)

    def command(port):
        return [*become, home / "postgres", "-D", data, "-p", port, "-h", "127.0.0.1", "-k", "",
                *[word for name in _OFF for word in ("-c", f"{name}=off")]]

    hello = struct.pack(">I", 196608) + b"user\0me\0database\0postgres\0\0"
    with driven(Daemon(command, env, scratch, ready="ready to accept"), prefix, env) as driver:
        driver.exchange(struct.pack(">I", len(hello) + 4) + hello, lambda got: got.endswith(READY))
        for number in range(20):
            query = b"select %d\0" % number
            driver.exchange(b"Q" + struct.pack(">I", len(query) + 4) + query, lambda got: got.endswith(READY))
        driver.send(b"X\0\0\0\4")


WELL = Well(
    needs=("setpriv",),
    packages=("postgresql",),
    owner="nobody",
    drive=drive,
)
