# SPDX-License-Identifier: MIT
"""The rows of the main table: a client or a server that sends its messages in pieces."""

import re
import tempfile
from dataclasses import dataclass

from . import configurations as conf
from .machine import pinned, program, run, run_json, running
from .rounds import paired

HOST = "127.0.0.1"


@dataclass(frozen=True)
class Target:
    """The most that a ratio may be: to one send, or to another configuration in the same rounds."""
    most: float
    of: str = conf.ONE.name


WARM_UP = 4000  # exchanges of a client that are not counted: some 50 ms, until the library has learned
WITHOUT_THREAD = 20000  # some 260 ms: the window's thread has ended, 100 ms after the last hold


@dataclass(frozen=True)
class Row:
    name: str
    title: str
    shape: str                # of client.c; "" for the server
    configurations: tuple
    targets: dict             # configuration -> Target
    per_chunk: int = 250
    connections: int = 0
    warm_up: int = WARM_UP


@dataclass(frozen=True)
class Amount:
    """How much of each row is measured; `left_out`: configurations."""
    rounds: int
    server_rounds: int
    chunks: int
    stalled_rounds: int
    stalled_calls: tuple  # exchanges of two runs, whose difference shows the system calls of one
    left_out: tuple = ()

    def configurations(self, row):
        return [c for c in row.configurations if c not in self.left_out]


def targets(auto, coalesce):
    return {"unstall auto": auto, "unstall coalesce": coalesce}


# What one road for all writes may cost (docs/decisions.md, "The path of a call").
PAIR = targets(Target(1.03, conf.MORE.name), Target(1.08))
MANY = targets(Target(1.10, conf.MORE.name), Target(1.18))
ROWS = [
    Row("two", "200 B + 100 B, read 200 B", "two", conf.STALLING, PAIR),
    Row("fifteen", "fifteen 2-byte writes, read 2 B", "fifteen", conf.STALLING, MANY, per_chunk=150),
    Row("two-malloc", "200 B + 100 B from a buffer of malloc, read 200 B", "two-malloc", conf.HELD, PAIR),
    Row("fifteen-malloc", "fifteen 2-byte writes from a buffer of malloc, read 2 B", "fifteen-malloc",
        conf.HELD, MANY, per_chunk=150),
    Row("body", "header 200 B + body 16 KiB", "body", conf.STALLING, PAIR),
    Row("random", "pieces of changing number (2 to 6)", "random", conf.STALLING, MANY),
    Row("server", "server that answers in two writes, epoll, 1 000 connections", "", conf.STALLING,
        PAIR, per_chunk=1000, connections=1000),
    Row("threads", "200 B + 100 B, read 200 B, in a program with an idle thread", "two", conf.THREADED,
        {"unstall auto": Target(1.03, conf.MORE.name)}),
    Row("well", "well-behaved program (one write a turn)", "one", conf.WELL,
        {**{f"unstall {mode}": Target(1.015) for mode in ("auto", "nodelay", "coalesce", "off")},
         "unstall observe": Target(1.03)}, warm_up=WITHOUT_THREAD),
]

FULL = Amount(25, 25, 24, 2, (8, 12))
# A look needs no second way to TCP_NODELAY or TCP_CORK, and no second configuration that stalls.
QUICK = Amount(5, 3, 6, 1, (4, 8), (*conf.OTHER_PRELOADS, conf.UNSTALL_OFF))
# On each connection of the server: its single thread holds only after 16 turns of a habit (policy.h).
HABIT_LEARNED = 20
STALLED = ["2", "2", "4"]  # warm-up, chunks, exchanges in each: some 44 ms an exchange


def client_argv(row, configuration, port, chunks, per_chunk=None):
    many = (STALLED if configuration.stalls
            else [str(row.warm_up), str(chunks), str(per_chunk or row.per_chunk)])
    return [program("client"), HOST, port, row.shape, configuration.way, *many]


def under_load(configuration, *load, kind="epoll"):
    """What `load`, with these words behind HOST PORT, tells of a server of ours."""
    with running([program("server"), kind, configuration.way], configuration.env()) as server:
        return run_json([program("load"), HOST, server.said, *map(str, load)])


def measure_server(row, configuration, chunks):
    many = (2, row.connections) if configuration.stalls else (chunks, row.per_chunk)
    return under_load(configuration, row.connections, HABIT_LEARNED * row.connections, *many)


def system_calls_of(argv, start):
    """How many system calls the first thread of a program makes while `start(argv behind strace)` runs it,
    epoll_wait left out: how many a server takes is chance."""
    with tempfile.NamedTemporaryFile("r") as out:
        start(["strace", "-qq", "-c", "-U", "calls,name", "-o", out.name, *argv])
        lines = re.findall(r"^\s*(\d+)\s+(\w+)$", out.read(), re.M)
    return sum(int(calls) for calls, name in lines if name not in ("total", "epoll_wait"))


def client_calls(row, configuration, port, stalled=FULL.stalled_calls):
    """System calls an exchange: the calls that 100 more exchanges add, divided by 100."""
    few, more = stalled if configuration.stalls else (100, 200)
    warm_up = "2" if configuration.stalls else "64"
    first, second = (system_calls_of(
        [program("client"), HOST, port, row.shape, configuration.way, warm_up, "1", str(exchanges)],
        lambda argv: run(argv, configuration.env())) for exchanges in (few, more))
    return (second - first) / (more - few)


def server_calls(row, configuration):
    """The same for the server."""
    def count(exchanges):
        def load(argv):
            with running(argv, configuration.env(), wrapped=True) as server:
                run([program("load"), HOST, server.said, "20", "120", "1", str(exchanges)])
        return system_calls_of([program("server"), "epoll", configuration.way], load)
    few, more = (40, 80) if configuration.stalls else (200, 600)
    return (count(more) - count(few)) / (more - few)


def measure(row, amount, progress):
    """The statistics of one row, and the system calls of each configuration."""
    with pinned(), running([program("peer")]) as peer:
        port = peer.said

        def once(configuration):
            if row.connections:
                return measure_server(row, configuration, amount.chunks)
            argv = client_argv(row, configuration, port, amount.chunks)
            return run_json(argv, configuration.env())

        configurations = amount.configurations(row)
        rounds = amount.server_rounds if row.connections else amount.rounds
        rows = paired(configurations, once, rounds, progress,
                      others={target.of for target in row.targets.values()}, stalled=amount.stalled_rounds)
        for configuration in configurations:
            rows[configuration.name]["calls"] = (
                server_calls(row, configuration) if row.connections
                else client_calls(row, configuration, port, amount.stalled_calls))
    return rows
