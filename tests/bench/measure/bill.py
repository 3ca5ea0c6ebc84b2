# SPDX-License-Identifier: MIT
"""The bill of a fleet: segments, bytes on the wire and CPU of a million exchanges."""

from . import configurations as conf
from .exchanges import HOST
from .machine import cpu_ns, pinned, program, run_json, running
from .rounds import spread

ON_THE_WIRE = 14 + 20 + 32  # Ethernet, IP, TCP with time stamps; and the application's bytes
REQUEST, ANSWER = 100, 500  # of load.c and server.c
CONNECTIONS = 10
MILLION = 1_000_000

BARE, NODELAY = conf.BARE, conf.BY_HAND[0]
COMPARED = [BARE, NODELAY, *(c for c in conf.UNSTALL if c.mode != "nodelay")]

CASES = {"one request, answered in two writes": 1, "16 requests in one read, each answered in two writes": 16}


def once(configuration, depth):
    """Of one request and its answer: packets of both directions, bytes, CPU of server and client."""
    amount = ["40", "2", "100"] if configuration.stalls else ["2000", "20", "500"]
    with running([program("server"), "epoll", configuration.way], configuration.env()) as server:
        before = cpu_ns(server.pid)
        told = run_json([program("load"), HOST, server.said, str(CONNECTIONS), *amount, str(depth)])
        served = (cpu_ns(server.pid) - before) / told["all exchanges"] / depth
    packets = told["packets"] / depth
    return {"packets": packets, "wire bytes": packets * ON_THE_WIRE + REQUEST + ANSWER,
            "cpu ns": served + told["cpu ns"] / depth}


def measure(rounds):
    """case -> configuration -> number -> median and quartiles."""
    with pinned():
        return {case: {c.name: {key: spread([r[key] for r in taken]) for key in taken[0]}
                       for c in COMPARED for taken in [[once(c, depth) for _ in range(rounds)]]}
                for case, depth in CASES.items()}


def of_a_million(row):
    """Millions of packets, gigabytes on the wire, seconds of CPU."""
    return (row["packets"]["median"], row["wire bytes"]["median"] * MILLION / 1e9,
            row["cpu ns"]["median"] * MILLION / 1e9)
