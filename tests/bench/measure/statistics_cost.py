# SPDX-License-Identifier: MIT
"""The time that UNSTALL_STATS adds to an exchange: the same mode with and without it, in paired rounds."""

import tempfile
from dataclasses import replace

from . import configurations as conf
from .exchanges import HOST, WARM_UP
from .machine import LIB, pinned, program, run_json, running
from .rounds import paired

CHUNKS, PER_CHUNK = 60, 250


def variants(mode, directory):
    without = conf.Configuration("without", "pieces", LIB, mode)
    return [without, replace(without, name="again"),
            replace(without, name="with", variables=(("UNSTALL_STATS", directory),))]


def measure(mode, shape, rounds):
    with tempfile.TemporaryDirectory(prefix="unstall-bench-", dir="/dev/shm") as directory, pinned(), \
         running([program("peer")]) as peer:
        def once(variant):
            argv = [program("client"), HOST, peer.said, shape, variant.way, str(WARM_UP), str(CHUNKS),
                    str(PER_CHUNK)]
            return run_json(argv, variant.env())
        return paired(variants(mode, directory), once, rounds)


CASES = (("auto", "two"), ("auto", "one"), ("nodelay", "two"), ("coalesce", "two"), ("off", "one"))


def measure_all(rounds):
    """(mode and shape) -> rows."""
    return {f"{mode}, {'two writes' if shape == 'two' else 'one write'}": measure(mode, shape, rounds)
            for mode, shape in CASES}
