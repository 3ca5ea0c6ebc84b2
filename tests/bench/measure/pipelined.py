# SPDX-License-Identifier: MIT
"""Several requests in one read: a server answers each in two writes, and the client has 16 under way."""

import tempfile
from dataclasses import dataclass

from . import configurations as conf
from . import real
from .exchanges import HOST, under_load
from .machine import found, pinned, program, run_json
from .rounds import paired

DEPTH = 16
TARGET = 0.5  # of the time of the same server with TCP_NODELAY
JUDGED = ("unstall auto", "unstall coalesce", "unstall cork")

NODELAY, CORKED, MORE = conf.BY_HAND
BY_HAND = [NODELAY, *(conf.Configuration(c.name, c.way, stalls=True) for c in (conf.ONE, CORKED, MORE)),
           *conf.OTHER_PRELOADS, *conf.UNSTALL]
PRELOADED = [c for c in real.STALLING if c is not real.BARE]


@dataclass(frozen=True)
class Amount:
    """Exchanges, of DEPTH requests each, before the counting and in it."""
    warm_up: int
    chunks: int
    per_chunk: int

    def argv(self):
        return [str(self.warm_up), str(self.chunks), str(self.per_chunk), str(DEPTH)]


MANY = Amount(1000, 40, 50)
STALLED = Amount(2, 2, 10)  # some 44 ms each
REAL = Amount(600, 20, 20)


def of_ours(connections):
    def once(configuration):
        amount = STALLED if configuration.stalls else MANY
        return under_load(configuration, connections, *amount.argv())
    return once


def of_http(argv_of, connections):
    def once(configuration):
        port = real.free_port()
        with real.serving(argv_of(port), port, configuration.env()):
            return run_json([program("load"), HOST, str(port), str(connections), *REAL.argv(), "http"])
    return once


def measure(rounds, connections, with_real, progress):
    """name -> rows, and name -> reason for each missing server."""
    results, skipped = {}, {}
    with pinned(), tempfile.TemporaryDirectory(prefix="unstall-bench-") as folder:
        for count in connections:
            name = f"epoll server in C, {count} connections"
            progress(name)
            results[name] = paired(BY_HAND, of_ours(count), rounds)
        for title, argv_of, programs in (("Python http.server", real.python, ()),
                                         ("JDK HttpServer", real.jdk, ("java", "javac"))):
            if not with_real:
                break
            if found(*programs):
                skipped[f"{title}, pipelined"] = "not installed: " + ", ".join(found(*programs))
                continue
            argv = argv_of(folder)
            for count in (1, 10):
                name = f"{title}, {count} connections"
                progress(name)
                results[name] = paired(PRELOADED, of_http(argv, count), rounds)
    return results, skipped


def verdict(name, row, reference):
    """Its time and its 99th percentile, divided by the ones of TCP_NODELAY in the same rounds."""
    if name not in JUDGED:
        return ""
    reached = row["ratio"]["median"] <= TARGET and row["p99 ns"]["median"] <= reference["p99 ns"]["median"]
    return f"≤ {TARGET:.2f}: " + ("reached" if reached else "missed")
