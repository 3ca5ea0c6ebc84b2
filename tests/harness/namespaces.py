# SPDX-License-Identifier: MIT
"""Two network namespaces behind a veth pair, and processes that end with a test."""

import subprocess

from .library import bare_env, skip
from .process import run, spawned


def need_namespaces(*options):
    """Skips where unshare(1) may not make these."""
    if run(["unshare", *options, "true"], bare_env(), check=False).returncode != 0:
        skip(f"unshare {' '.join(options)} is not permitted here")


def started(stack, *words):
    """A process with its output read, until the stack of contexts ends."""
    return stack.enter_context(spawned(words, stdout=subprocess.PIPE))


def within(process, *words):
    """A command in the network namespace of this process."""
    return ["nsenter", "-n", "-t", str(process.pid), *map(str, words)]


def two_namespaces(stack, network):
    """A process in each; their addresses are NETWORK.1 and NETWORK.2."""
    near, far = (started(stack, "unshare", "-n", "sh", "-c", "echo up && exec sleep 600") for _ in range(2))
    assert all(one.stdout.readline() == "up\n" for one in (near, far))
    pair = f"add uns0 type veth peer name uns1 netns {far.pid}".split()
    subprocess.run(within(near, "ip", "link", *pair), check=True)
    for one, address, name in ((near, f"{network}.1/24", "uns0"), (far, f"{network}.2/24", "uns1")):
        subprocess.run(within(one, "ip", "addr", "add", address, "dev", name), check=True)
        subprocess.run(within(one, "ip", "link", "set", name, "up"), check=True)
    return near, far
