# SPDX-License-Identifier: MIT
"""Cgroups of our own."""

import contextlib
import os
from pathlib import Path

from .library import skip, need_root
from .patience import wait_until


def cgroup_mount():
    with open("/proc/self/mountinfo", encoding="utf-8") as mounts:
        for line in mounts:
            if " - cgroup2 " in line:
                return Path(line.split()[4])
    return skip("cgroup v2 is not mounted")


@contextlib.contextmanager
def cgroup(name):
    """One of this name, perhaps within another one of ours (A/B): its folder, and what enters it."""
    need_root("may make a cgroup")
    root = cgroup_mount()
    folder = root / name
    folder.mkdir(parents=True)
    processes = folder / "cgroup.procs"
    try:
        yield folder, lambda: processes.write_text(str(os.getpid()), encoding="ascii")
    finally:
        if folder.exists():
            assert wait_until(lambda: not processes.read_text(encoding="ascii"))
            folder.rmdir()
        if folder.parent != root:
            folder.parent.rmdir()
