# SPDX-License-Identifier: MIT
"""Programs that stall and run for long, of kinds that no preload reaches, and what they measure."""

import contextlib
import fcntl
import os
import statistics
import subprocess
import sys
import threading
from pathlib import Path

from harness import STALL_MS, Peer, bare_env, compile_c, compile_go, compile_rust, skip, unstall, wait_until

HERE = Path(__file__).parent / "programs"
PINS = Path("/sys/fs/bpf/unstall")
ENOUGH = 9  # exchanges that make a median
CURED_MS = 5
TRIES = 5
MPTCP = 262  # IPPROTO_MPTCP, from Linux 5.6 on


KINDS = {
    "plain": lambda: compile_c(HERE / "talker.c"),
    "static, raw calls": lambda: compile_c(HERE / "talker.c", "-DRAW", "-static"),
    "static musl": lambda: compile_c(HERE / "talker.c", "-static", cc="musl-gcc"),
    "Rust, raw calls": lambda: compile_rust(HERE / "talker.rs"),
    "io_uring": lambda: compile_c(HERE / "talker.c", "-DRING", libraries=["uring"]),
    "Go": lambda: compile_go(HERE / "talker.go", "attach-talker-go"),
    "MPTCP": lambda: compile_c(HERE / "talker.c", f"-DPROTOCOL={MPTCP}"),
}


def need_mptcp():
    switch = Path("/proc/sys/net/mptcp/enabled")
    if not switch.exists() or switch.read_text("ascii") != "1\n":
        skip("the kernel has no MPTCP")


def answer(connection):
    while connection.take(200):
        connection.socket.sendall(b"r" * 200)


class Talker:
    """A running program; its lines are read by a thread, so that it never waits for us."""

    def __init__(self, kind, *words, env=None, before=None, user=None, under=()):
        argv = [*map(str, under), str(KINDS[kind]()), *map(str, words)]
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        bufsize=1, env=env or bare_env(), preexec_fn=before, user=user)
        self.pid = self.process.pid
        self.port = None       # that it listens on
        self.peer_port = None  # that it is connected to
        self.told = []  # (ms, what it reads back), a line each
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for line in self.process.stdout:
            first, second = line.split()
            if first == "port":
                self.port = int(second)
            else:
                self.told.append((int(first) / 1000, int(second)))

    def say(self, word):
        self.process.stdin.write(word + "\n")
        self.process.stdin.flush()

    def next(self, enough=ENOUGH):
        """The next exchanges, without the one that is under way."""
        begin = len(self.told) + 2
        assert wait_until(lambda: len(self.told) >= begin + enough), "the program says nothing"
        return self.told[begin:]

    def median(self):
        return statistics.median(took for took, _ in self.next())

    def reads_back(self):
        return {value for _, value in self.next()}

    def end(self):
        self.process.kill()
        self.process.wait()
        self._reader.join(10)
        self.process.stdin.close()
        self.process.stdout.close()


ANSWERING = """
import socket, threading
def answer(connection):
    while len(got := connection.recv(200, socket.MSG_WAITALL)) == 200:
        connection.sendall(got)
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
while True:
    threading.Thread(target=answer, args=(listener.accept()[0],), daemon=True).start()
"""


@contextlib.contextmanager
def talking_to_a_process():
    """A client, and the process of its peer."""
    peer = subprocess.Popen([sys.executable, "-S", "-c", ANSWERING], stdout=subprocess.PIPE, text=True)
    talker = Talker("plain", "connect", int(peer.stdout.readline()))
    try:
        yield talker, peer.pid
    finally:
        talker.end()
        peer.kill()
        peer.communicate()


@contextlib.contextmanager
def talking(kind="plain", **how):
    """A client that talks with a peer of ours."""
    if kind == "MPTCP":
        need_mptcp()
    with Peer(answer, protocol=MPTCP if kind == "MPTCP" else 0) as peer:
        words = [] if kind == "Go" else ["connect"]
        talker = Talker(kind, *words, peer.port, **how)
        talker.peer_port = peer.port
        try:
            yield talker
        finally:
            talker.end()


@contextlib.contextmanager
def bpf_file_system():
    """systemd mounts it at boot.  Where it does not run, nothing may be mounted there."""
    kind = subprocess.run(["stat", "-f", "-c", "%T", PINS.parent], stdout=subprocess.PIPE, check=False).stdout
    if os.geteuid() != 0 or kind == b"bpf_fs\n":
        yield
        return
    subprocess.run(["mount", "-t", "bpf", "bpf", PINS.parent], check=True)
    try:
        yield
    finally:
        # a process of the test that still ends may have a file there: "target is busy"
        assert wait_until(lambda: subprocess.run(["umount", PINS.parent], check=False).returncode == 0, 20)


@contextlib.contextmanager
def alone():
    """What is attached belongs to the whole host: one test at a time, of all files."""
    with open("/tmp/unstall-attach-tests.lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with bpf_file_system():
            yield


def pinned():
    """The names below PINS.  Whoever ends the last attachment removes that folder, maybe just now."""
    with contextlib.suppress(FileNotFoundError):
        return os.listdir(PINS)
    return []


def nothing_pinned():
    """Before, attach may be used; after, nothing is pinned but what belongs to another program's run."""
    done = unstall("attach", "2147483647")
    if "no such process" not in done.stderr:
        skip(done.stderr.strip())
    yield
    left = [name for name in pinned() if not name.startswith("run-")]
    for name in left:
        unstall("detach", name)
    assert not left, left


def stalls(talker):
    """On a busy machine some exchanges do not stall: the peer is late and acknowledges with its answer."""
    return any(talker.median() > STALL_MS for _ in range(TRIES))


def is_cured(talker):
    return any(talker.median() < CURED_MS for _ in range(TRIES))
