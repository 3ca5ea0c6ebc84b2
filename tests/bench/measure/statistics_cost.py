# SPDX-License-Identifier: MIT
"""The time that UNSTALL_STATS adds to an exchange: the same mode with and without it, in paired rounds.

By hand: `cd tests/bench && UNSTALL_BUILD_ROOT=... /usr/bin/python3 -m measure.statistics_cost [ROUNDS]`
"""

import shutil
import sys
import tempfile
from dataclasses import dataclass

from .exchanges import HOST, WARM_UP
from .machine import LIB, environment, pinned, program, run_json, running, say
from .rounds import paired

CHUNKS, PER_CHUNK = 60, 250


@dataclass(frozen=True)
class Variant:
    name: str
    way: str
    shape: str
    variables: tuple = ()
    stalls: bool = False


def variants(mode, shape, directory):
    plain = (("UNSTALL_MODE", mode),)
    return [Variant("without", "pieces", shape, plain), Variant("again", "pieces", shape, plain),
            Variant("with", "pieces", shape, (*plain, ("UNSTALL_STATS", directory)))]


def measure(mode, shape, rounds):
    directory = tempfile.mkdtemp(prefix="unstall-bench-", dir="/dev/shm")
    try:
        with pinned(), running([program("peer")]) as peer:
            def once(variant):
                argv = [program("client"), HOST, peer.said, variant.shape, variant.way,
                        str(WARM_UP), str(CHUNKS), str(PER_CHUNK)]
                return run_json(argv, environment(LIB, **dict(variant.variables)))
            return paired(variants(mode, shape, directory), once, rounds)
    finally:
        shutil.rmtree(directory)


CASES = (("auto", "two"), ("auto", "one"), ("nodelay", "two"), ("coalesce", "two"), ("off", "one"))


def measure_all(rounds):
    """(mode and shape) -> rows."""
    return {f"{mode}, {'two writes' if shape == 'two' else 'one write'}": measure(mode, shape, rounds)
            for mode, shape in CASES}


def main(rounds):
    for mode, shape in CASES:
        rows = measure(mode, shape, rounds)
        for name, row in rows.items():
            ratio = row["ratio"]
            say(f"{mode:9} {shape:4} {name:8} {row['ns']['median']:8.0f} ns  ratio {ratio['median']:.4f} "
                f"({ratio['low']:.4f} to {ratio['high']:.4f})")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 15)
