# SPDX-License-Identifier: MIT
"""Roots of other systems, and whether a program in them stalls: judged by the peer, from arrival times."""

import contextlib
import fcntl
import os
import shutil
import statistics
import subprocess

from made import FOLDER, run

from harness import SOURCE_ROOT, STALL_MS, WARM, AnsweringPeer, need_root, skip

EXCHANGES = 15
REQUEST = 300
MAKE_ROOT = 'source "$0/common.sh" && source "$0/root.sh" && make_root "$@"'
CLIENT = SOURCE_ROOT / "tests/deploy/client.pl"


@contextlib.contextmanager
def locked(name):
    FOLDER.mkdir(parents=True, exist_ok=True)
    with open(FOLDER / f"{name}.lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield FOLDER / name


def older_root():
    """Debian 11: glibc 2.31 and perl."""
    need_root("may enter another root")
    if shutil.which("mmdebstrap") is None:
        skip("mmdebstrap is not installed")
    with locked("debian-11") as root:
        if not (root / "made").exists():
            shutil.rmtree(root, ignore_errors=True)
            run("bash", "-euc", MAKE_ROOT, SOURCE_ROOT / "scripts/lib", root, "bullseye",
                "--variant=extract", "--include=perl-base,libc6")
            shutil.rmtree(root / "dev")  # a copy of /dev/zero would have no end
            (root / "dev").mkdir()
            (root / "made").touch()
            shutil.copy(CLIENT, root)
    return root


def median_wait_of(connection):
    """Milliseconds between the first piece of a message and its last, as the peer has seen them arrive."""
    assert len(connection.received) == EXCHANGES * REQUEST
    waits = []
    for message in range(WARM, EXCHANGES):
        first = connection.arrival_of(message * REQUEST)
        waits.append((connection.arrival_of((message + 1) * REQUEST - 1) - first) / 1e6)
    return statistics.median(waits)


def stalls_after(start):
    """Does the program stall that start(peer) runs to its end?"""
    with AnsweringPeer(request=REQUEST) as peer:
        start(peer)
        (connection,) = peer.connections
    return median_wait_of(connection) > STALL_MS


def inside(root, *command, **env):
    """A program of the root.  Not by chroot(1), which the variables would reach first."""
    return subprocess.run(list(command), check=False, capture_output=True, text=True, timeout=60, cwd="/",
                          preexec_fn=lambda: os.chroot(root),
                          env={"PATH": "/usr/bin:/bin", **env})


def cured(root, library, mode):
    """perl in this root, with the library: true if it does not stall.  Bare it must."""
    copy = root / "libunstall.so"
    shutil.copy(library, copy)

    def start(peer, **env):
        done = inside(root, "/usr/bin/perl", "/client.pl", *peer.target, str(EXCHANGES), **env)
        assert (done.returncode, done.stderr) == (0, "")

    assert stalls_after(start)
    return not stalls_after(lambda peer: start(peer, LD_PRELOAD="/libunstall.so", UNSTALL_MODE=mode))
