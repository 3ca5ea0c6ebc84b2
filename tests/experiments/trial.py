# SPDX-License-Identifier: MIT
"""The parts that the tests of experiments share: the analysis as modules, made-up
and recorded results, servers."""

import bisect
import collections
import contextlib
import json
import math
import random
import socket
import subprocess
import sys
import time
from pathlib import Path

from harness import COMMAND, SOURCE_ROOT, bare_env, free_port, run, spawned

HERE = Path(__file__).parent
DATA = HERE / "data"
PROGRAMS = HERE / "programs"
PYTHON = "/usr/bin/python3"
ANALYSIS = SOURCE_ROOT / "src/analysis"
sys.path.insert(0, str(ANALYSIS))

from record.histogram import STEPS, Histogram, lowest  # noqa: E402
from record.results import Results, Unit  # noqa: E402


EVEN = ("--seed", 5)  # of a live experiment: two arms get the first connections nearly in turn, by chance


def ab(*words, env=None, timeout=110, **popen):
    """`unstall ab WORD...` to its end."""
    return run([str(COMMAND), "ab", *map(str, words)], env or bare_env(), check=False, timeout=timeout,
               **popen)


def begun(*words, **popen):
    """`unstall ab WORD...` in the background."""
    return subprocess.Popen([str(COMMAND), "ab", *map(str, words)], env=bare_env(), text=True,
                            **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **popen})


def measured(path):
    """A file of results."""
    return json.loads(Path(path).read_text(encoding="utf-8"))


LAST_BUCKET = 27 * STEPS + 1
BOUNDS = [lowest(bucket, STEPS) for bucket in range(LAST_BUCKET + 1)]


def histogram_of(times_ns):
    """The histogram of single times."""
    return Histogram(STEPS, dict(collections.Counter(bisect.bisect(BOUNDS, ns) - 1 for ns in times_ns)))


def made_up(rounds, effect=1.0, noise=0.08, seed=1, arms=("off", "auto"), heavy=False, **asked):
    """Results with a known truth: the last arm takes `effect` times as long."""
    dice = random.Random(seed)
    made = Results("command", {"arms": list(arms), "base": arms[0], "seed": 1, "confidence": 0.95,
                               "margin": 0.1, "command": ["prog", "a b"], **asked},
                   {"here": FACTS}, began="2026-01-01T00:00:00+00:00", ended="2026-01-01T00:01:00+00:00",
                   ending="complete")
    for block in range(rounds):
        drift = math.exp(dice.gauss(0, 0.3))  # load slows all arms of a round
        for arm in arms:
            shake = dice.gauss(0, noise)
            if heavy and dice.random() < 0.1:
                shake += dice.expovariate(0.5)  # one run in ten is several times as slow
            mean = 1e6 * drift * math.exp(shake) * (effect if arm == arms[-1] else 1)
            times = [mean * math.exp(dice.gauss(0, 0.3)) for _ in range(30)]
            made.units.append(Unit(arm, "here", block, wall_s=sum(times) / 1e9, user_s=0.01, system_s=0.02,
                                   exchanges=30, exchange_ns=int(sum(times)), segments=60, messages=30,
                                   connections=1, stalls=0, histogram=histogram_of(times)))
    return made


FACTS = {"host": "here", "kernel": "6.1", "processor": "P", "processors": 2, "libc": "glibc", "load": 0.1}


@contextlib.contextmanager
def answering(think_ms=0, pieces=1):
    """programs/server.py, bare; its port."""
    port = free_port()
    with spawned(server_command(port, think_ms, pieces)):
        wait_until_it_listens(port)
        yield port


def server_command(port, think_ms=0, pieces=1):
    """The command that starts it; two pieces stall."""
    return [PYTHON, "-S", str(PROGRAMS / "server.py"), str(port), str(think_ms), str(pieces)]


def client(port, exchanges, habit="two", connections=1):
    """The command of programs/client.py."""
    return [PYTHON, "-S", str(PROGRAMS / "client.py"), str(port), str(exchanges), habit, str(connections)]


def wait_until_it_listens(port):
    """At most ten seconds.  Our connection is closed by the server, too: no experiment finds a rest of it."""
    for _ in range(500):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=10) as probe:
            probe.shutdown(socket.SHUT_WR)
            probe.recv(1)
            return
        time.sleep(0.02)
    raise AssertionError(f"no socket listens on {port}")


def alive(marker):
    """The processes with this word in their command line."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if marker in (entry / "cmdline").read_bytes().decode(errors="replace").split("\0"):
                found.append(int(entry.name))
    return found
