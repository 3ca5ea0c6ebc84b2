# SPDX-License-Identifier: MIT
"""Keeps a container with a real systemd while its standard input is open; then nothing of it is left.

    keeper.py ROOT     prints the id of the container's first process when systemd is up

A process of its own, in a session of its own: the container and all of it is removed also when the tests are
killed, because their end of the pipe closes then.
"""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BOOT_S = 60

# Its systemd keeps units in cgroups of version 2, as on a host of today.  Without this systemd-nspawn looks
# for the version of systemd in the root, where /usr is still empty, and takes version 1.
CGROUP_V2 = {**os.environ, "SYSTEMD_NSPAWN_UNIFIED_HIERARCHY": "1"}


def own_groups():
    """The folders of cgroups that systemd-nspawn divides: those of this process, in systemd's hierarchies."""
    places = {}
    for line in Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines():
        words = line.split()
        kind, options = words[words.index("-") + 1], words[-1].split(",")
        if kind == "cgroup2" or (kind == "cgroup" and "name=systemd" in options):
            places["" if kind == "cgroup2" else "name=systemd"] = words[4]
    for line in Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers in places:
            yield Path(places[controllers] + path)


def remove_group(group):
    for _ in range(100):  # a process that has just ended keeps its group for a moment
        for folder, _, _ in os.walk(group, topdown=False):
            with contextlib.suppress(OSError):
                os.rmdir(folder)
        if not group.exists():
            return
        time.sleep(0.02)


def in_container(leader, *words):
    return subprocess.run(["nsenter", "--target", str(leader), "--all", *words], check=False,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=BOOT_S)


def leader_of(nspawn):
    """The child that is process 1 of its own namespace, or 0.  The one that makes it is in the host's
    namespaces, where another systemd would answer."""
    children = Path(f"/proc/{nspawn.pid}/task/{nspawn.pid}/children").read_text(encoding="ascii").split()
    for child in children:
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            status = Path(f"/proc/{child}/status").read_text(encoding="utf-8")
            if re.search(r"^NSpid:.*\t1$", status, re.M):
                return int(child)
    return 0


def wait_until_up(nspawn):
    """The first process of the container, once its systemd has reached its target."""
    end = time.monotonic() + BOOT_S
    state = "not started"
    while time.monotonic() < end and nspawn.poll() is None:
        leader = leader_of(nspawn)
        if leader:
            state = in_container(leader, "systemctl", "is-system-running").stdout.strip()
            if state in ("running", "degraded"):
                return leader
        time.sleep(0.05)
    raise SystemExit(f"systemd does not come up in the container: {state}")


def end_container(nspawn):
    """Ends its first process, with which the kernel ends all others; it outlives systemd-nspawn."""
    leader = leader_of(nspawn)
    if leader:
        os.kill(leader, signal.SIGKILL)
    else:
        nspawn.kill()
    try:
        nspawn.wait(10)
    except subprocess.TimeoutExpired:
        nspawn.kill()
        nspawn.wait()


def main(root, words):
    """`words`: a file for what systemd-nspawn says."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    groups = [group / f"unstall-service-{os.getpid()}" for group in own_groups()]
    nspawn = None
    try:
        for group in groups:
            group.mkdir()

        def enter():
            for group in groups:
                (group / "cgroup.procs").write_text("0", encoding="ascii")

        # pylint: disable-next=subprocess-popen-preexec-fn
        nspawn = subprocess.Popen(
            ["systemd-nspawn", "--quiet", "--keep-unit", "--register=no", "--private-network",
             "--bind-ro=/usr", "--console=pipe", "--boot", "--directory", root, "systemd.unit=small.target"],
            preexec_fn=enter, env=CGROUP_V2, stdin=subprocess.DEVNULL, stdout=words, stderr=words)
        try:
            print(wait_until_up(nspawn), flush=True)
        except SystemExit:
            words.seek(0)
            sys.stderr.write(words.read())
            raise
        sys.stdin.read()
    finally:
        if nspawn:
            end_container(nspawn)
        for group in groups:
            remove_group(group)
        shutil.rmtree(root)
        propagated = Path("/run/systemd/nspawn/propagate", Path(root).name)
        if propagated.is_dir():  # systemd-nspawn keeps it if its container is killed
            propagated.rmdir()


if __name__ == "__main__":
    with tempfile.TemporaryFile("w+", encoding="utf-8") as log:
        main(sys.argv[1], log)
