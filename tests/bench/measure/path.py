# SPDX-License-Identifier: MIT
"""A long path: two network namespaces, joined by a relay in user space that keeps each packet for
ten milliseconds (relay.c; not every kernel has tc's netem)."""

import os
import subprocess
from contextlib import contextmanager

from . import configurations as conf
from .machine import found, program, run, run_json, running
from .rounds import paired

ROUND_TRIP_MS = 20
HERE, THERE = "10.213.77.1", "10.213.77.2"

CONFIGURATIONS = [conf.ONE, conf.Configuration("bare", "pieces"), conf.BY_HAND[0], *conf.UNSTALL[:2]]


def ip(*words):
    run(["ip", *words])


@contextmanager
def path():
    """Two namespaces and the way between them; removed at the end."""
    near, far = f"unstall-near-{os.getpid()}", f"unstall-far-{os.getpid()}"
    made = []
    try:
        for name in (near, far):
            ip("netns", "add", name)
            made.append(name)
        relay = [program("relay"), f"/run/netns/{near}", f"/run/netns/{far}", str(ROUND_TRIP_MS / 2)]
        with running(relay):
            for name, address, other in ((near, HERE, THERE), (far, THERE, HERE)):
                ip("-n", name, "address", "add", address, "peer", other, "dev", "bench0")
                ip("-n", name, "link", "set", "lo", "up")
                ip("-n", name, "link", "set", "bench0", "up")
            yield near, far
    finally:
        for name in made:
            subprocess.run(["ip", "netns", "delete", name], check=False)


def inside(namespace, argv):
    return ["ip", "netns", "exec", namespace, *argv]


def client(near, env, shape, way, port, exchanges):
    return run_json(inside(near, [program("client"), THERE, port, shape, way, "3", str(exchanges), "1"]),
                    env)


def measure(rounds, exchanges):
    """The statistics of the path; None and a reason where it cannot be made."""
    if os.geteuid() != 0:
        return None, "namespaces need root"
    if found("ip"):
        return None, "no ip here"
    if not os.path.exists("/dev/net/tun"):
        return None, "no /dev/net/tun"
    try:
        with path() as (near, far), running(inside(far, [program("peer")])) as peer:
            return paired(CONFIGURATIONS, lambda c: client(
                near, c.env(), "two", c.way, peer.said, exchanges), rounds), None
    except RuntimeError as error:
        return None, str(error)
