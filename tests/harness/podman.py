# SPDX-License-Identifier: MIT
"""podman with a store of its own, and images of the machine's own files."""

import contextlib
import re
import shutil
import subprocess
import time
from pathlib import Path

from .library import bare_env

# crun 1.8 refuses a host with two hierarchies of cgroups, runc does not; neither may raise limits here.
_CONTAINERS = """
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
tmp_dir = "{0}/tmp"
[containers]
default_ulimits = ["nofile=1024:1024", "nproc=1000:1000"]
"""
_STORAGE = '[storage]\ndriver = "vfs"\ngraphroot = "{0}/graph"\nrunroot = "{0}/run"\n'


def podman_env(place):
    """The environment in which it uses nothing outside of the folder `place`."""
    for name, text in (("containers.conf", _CONTAINERS), ("storage.conf", _STORAGE)):
        (place / name).write_text(text.format(place), encoding="ascii")
    return bare_env(CONTAINERS_CONF=place / "containers.conf", XDG_RUNTIME_DIR=place, HOME=place,
                    CONTAINERS_STORAGE_CONF=place / "storage.conf",
                    PODMAN_IGNORE_CGROUPSV1_WARNING=1)  # from 5.0 on it warns at each start


def needed_by(program):
    """The libraries that it is linked with, and its linker."""
    said = subprocess.run(["ldd", program], check=True, capture_output=True, text=True).stdout
    return re.findall(r"(/\S+) \(0x", said)


def add_files(root, *files):
    """Each at its own place below the root of an image."""
    for file in files:
        place = root / str(file).lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, place)


def remove_cgroups(name):
    """Ends the processes that podman leaves; its monitor may take a moment to end."""
    for _ in range(100):
        roots = [path for pattern in (name, f"*/{name}") for path in Path("/sys/fs/cgroup").glob(pattern)]
        if not roots:
            return
        for path in (folder for root in roots for folder in (*root.glob("*/"), root)):
            with contextlib.suppress(OSError):
                path.rmdir()
        time.sleep(0.1)
    raise AssertionError(f"cgroups stay: {roots}")
