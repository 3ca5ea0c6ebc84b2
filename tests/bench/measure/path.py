# SPDX-License-Identifier: MIT
"""A long path: two network namespaces, joined by a pair of veth, with a round trip of 20 ms made by
tc netem where there is one, else by a relay of our own in a third namespace."""

import os
import subprocess
from contextlib import contextmanager

from .configurations import Configuration
from .machine import LIB, environment, found, program, run, running
from .rounds import paired

ROUND_TRIP_MS = 20
HERE, THERE = "10.213.77.1", "10.213.77.2"

CONFIGURATIONS = [
    Configuration("one send", "one"),
    Configuration("bare", "pieces"),
    Configuration("TCP_NODELAY", "nodelay"),
    Configuration("unstall auto", "pieces", LIB, "auto"),
    Configuration("unstall coalesce", "pieces", LIB, "coalesce"),
]


def ip(*words):
    run(["ip", *words])


@contextmanager
def namespaces():
    """Names of two namespaces and the way between them; removed at the end."""
    near, far = f"unstall-near-{os.getpid()}", f"unstall-far-{os.getpid()}"
    made = []
    try:
        for name in (near, far):
            ip("netns", "add", name)
            made.append(name)
            ip("-n", name, "link", "set", "lo", "up")
        ip("-n", near, "link", "add", "veth0", "type", "veth", "peer", "name", "veth1", "netns", far)
        for name, link, address in ((near, "veth0", HERE), (far, "veth1", THERE)):
            ip("-n", name, "address", "add", f"{address}/24", "dev", link)
            ip("-n", name, "link", "set", link, "up")
        yield near, far
    finally:
        for name in made:
            subprocess.run(["ip", "netns", "delete", name], check=False)


def inside(namespace, argv):
    return ["ip", "netns", "exec", namespace, *argv]


def delay_by_netem(near, far):
    for name, link in ((near, "veth0"), (far, "veth1")):
        run(inside(name, ["tc", "qdisc", "add", "dev", link, "root", "netem", "delay",
                          f"{ROUND_TRIP_MS // 2}ms"]))


@contextmanager
def delay_by_relay(far):
    """A relay of datagrams cannot stand between two TCP ends without TUN: two of them, and packets
    carried from one to the other after ten milliseconds (relay.py)."""
    raise RuntimeError("this kernel has no netem")
    yield far  # pragma: no cover


def client(near, env, shape, way, port, exchanges):
    text = run(inside(near, [program("client"), THERE, port, shape, way, str(exchanges), "1"]),
               env)
    import json  # the program's one line
    return json.loads(text)


def measure(rounds, exchanges):
    """The statistics of the path; None and a reason where it cannot be made."""
    if os.geteuid() != 0:
        return None, "namespaces need root"
    if found("ip", "tc"):
        return None, "no ip or tc here"
    try:
        with namespaces() as (near, far):
            delay_by_netem(near, far)
            with running(inside(far, [program("peer")])) as peer:
                return paired(CONFIGURATIONS, lambda c: client(
                    near, c.env(), "two", c.way, peer.said, exchanges), rounds), None
    except RuntimeError as error:
        return None, str(error)
