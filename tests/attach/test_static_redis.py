# SPDX-License-Identifier: MIT
"""A statically linked redis, as target of unstall attach and of unstall run.

redis sets TCP_NODELAY on its connections and does not stall.  With `repl-disable-tcp-nodelay yes` it clears
the option on the connections to its replicas; redis.conf warns of delays of up to 40 ms.  Then WAIT stalls,
by which a client waits until its last write has reached a replica: the master sends the write, and behind it
asks for an acknowledgement.  That second small piece waits for the delayed acknowledgement of the first one.
"""

import contextlib
import re
import shutil
import socket
import statistics
import subprocess
import sys
import time
from pathlib import Path

import pytest
from attachments import attached
from unreached import ENOUGH, is_cured, stalls, wait_until

from harness import COMMAND, bare_env, free_port, run, skip

sys.path.insert(0, str(Path(__file__).parents[1] / "victims"))

from runner import made  # noqa: E402

BUILD = Path(__file__).parent / "static-redis/build.sh"
NO_SOURCE = 3  # its exit code
LIMIT_MS = 20000  # of WAIT: on a busy machine a replica has needed more than half a second
STALLING = ("--repl-disable-tcp-nodelay", "yes")


def build(folder):
    done = run(["nice", "-n", "15", BUILD, folder], bare_env(), check=False, timeout=600)
    if done.returncode == NO_SOURCE:
        skip(f"the source of redis cannot be fetched: {done.stderr.strip()}")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(name="redis", scope="module")
def a_static_redis():
    if not shutil.which("make"):
        skip("make is not installed")
    return made(BUILD, build) / "redis-server"


class Server:
    """A redis without files."""

    def __init__(self, redis, folder, *words, under=()):
        self.port = free_port()
        self.process = subprocess.Popen(
            [*map(str, under), redis, "--port", str(self.port), "--bind", "127.0.0.1", "--save", "",
             "--dir", folder, "--repl-diskless-sync-delay", "0", *map(str, words)],
            env=bare_env(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.pid = self.process.pid

    def accepts(self):
        with contextlib.suppress(ConnectionRefusedError):
            return socket.create_connection(("127.0.0.1", self.port), timeout=30)
        return None

    def end(self):
        self.process.kill()
        return self.process.communicate()[1]


class Pair:
    """A master with a replica, and a client that waits for the replica after each write."""

    def __init__(self, stack, redis, folder, *words, under=()):
        self.master = Server(redis, folder, *words, under=under)
        self.said = ""
        stack.callback(self.end)
        assert wait_until(self.connect), "redis does not listen"
        self.replica = Server(redis, folder, "--replicaof", "127.0.0.1", self.master.port)
        stack.callback(self.replica.end)
        assert wait_until(lambda: self.exchange(500)[1] == b":1\r\n"), "there is no replica"

    def connect(self):
        self.client = self.master.accepts()
        if self.client:
            self.client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.answers = self.client.makefile("rb")
        return self.client

    def end(self):
        if self.client:
            self.answers.close()
            self.client.close()
        self.said = self.master.end()

    def ask(self, command):
        self.client.sendall(command + b"\r\n")
        return self.answers.readline()

    def exchange(self, limit_ms):
        """Its ms, and how many replicas have the write after at most `limit_ms`."""
        begin = time.monotonic()
        assert self.ask(b"SET key value") == b"+OK\r\n"
        replicas = self.ask(b"WAIT 1 %d" % limit_ms)
        return 1000 * (time.monotonic() - begin), replicas

    def median(self):
        told = [self.exchange(LIMIT_MS) for _ in range(ENOUGH)]
        assert {replicas for _, replicas in told} == {b":1\r\n"}
        return statistics.median(ms for ms, _ in told)


@contextlib.contextmanager
def pair(redis, folder, *words, **how):
    with contextlib.ExitStack() as stack:
        yield Pair(stack, redis, folder, *words, **how)


@pytest.mark.parametrize("mode", ["proof", "always"])
def test_a_running_redis_is_cured_and_put_back(redis, mode, tmp_path):
    with pair(redis, tmp_path, *STALLING) as p:
        assert stalls(p)
        with attached(p.master.pid, "--mode", mode) as a:
            assert is_cured(p)
            assert a.end() == 0
        assert re.search(r"put back; 1 connection had been cured\n$", a.said)
        assert stalls(p)


def test_a_redis_that_sets_the_option_itself_is_left_alone(redis, tmp_path):
    with pair(redis, tmp_path) as p:
        assert is_cured(p)
        with attached(p.master.pid, "--mode", "always") as a:
            assert is_cured(p)
            assert a.end() == 0
        assert "put back; 0 connections had been cured" in a.said
        assert is_cured(p)


@pytest.mark.parametrize("how, why", [
    ([], "statically linked, so nothing can be preloaded; it runs under the seccomp supervisor"),
    (["--how", "seccomp"], "it runs under the seccomp supervisor"),
])
def test_run_cures_it_from_its_start(redis, how, why, tmp_path):
    """redis clears TCP_NODELAY after the connection is made, so the cure outlives that."""
    with pair(redis, tmp_path, *STALLING, under=[COMMAND, "run", "--verbose", "1", *how]) as p:
        assert is_cured(p)
    assert why in p.said
