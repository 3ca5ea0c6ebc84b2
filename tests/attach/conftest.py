# SPDX-License-Identifier: MIT
"""The BPF file system, without which nothing can be pinned.

systemd mounts it at boot; a machine without systemd, a container for example, may have none.  The tests then
mount it, and the last process of pytest that uses it unmounts it.  The others say by a shared lock that they
use it.
"""

import contextlib
import fcntl
import os
import subprocess
import tempfile
from pathlib import Path

import pytest

FOLDER = Path("/sys/fs/bpf")
OURS = Path(tempfile.gettempdir()) / "unstall-tests-bpf"  # who uses the mount locks it; "ours": unmount it


def bpf_is_mounted():
    kind = subprocess.run(["stat", "-f", "-c", "%T", FOLDER], capture_output=True, text=True, check=False)
    return kind.stdout.strip() == "bpf_fs"


def take(users):
    """Mounts if needed.  flock(2) lets go of one lock before it takes the other, so another process may have
    unmounted in between."""
    mounted = False
    while not mounted:
        fcntl.flock(users, fcntl.LOCK_EX)
        if not bpf_is_mounted():
            subprocess.run(["mount", "-t", "bpf", "bpf", FOLDER], check=True)
            users.truncate(0)
            users.write("ours")
            users.flush()
        fcntl.flock(users, fcntl.LOCK_SH)
        mounted = bpf_is_mounted()


@pytest.fixture(scope="session", autouse=True)
def bpf_file_system():
    if os.geteuid() != 0 or not FOLDER.is_dir():
        yield  # each case says by itself what it misses
        return
    with open(OURS, "a+", encoding="ascii") as users:
        take(users)
        yield
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
            users.seek(0)
            if users.read() == "ours":
                subprocess.run(["umount", FOLDER], check=True)
                users.truncate(0)
