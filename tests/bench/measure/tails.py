# SPDX-License-Identifier: MIT
"""The slowest exchanges of a client beside stress-ng: is a thread of ours the reason for them?"""

import subprocess
import time
from contextlib import contextmanager

from . import configurations as conf
from .exchanges import HOST
from .machine import LIB, found, pinned, program, run_json, running
from .rounds import paired

SHAPE = "two"
EXCHANGES = 20000  # in a round: the 99.9th percentile is the 20th slowest


COMPARED = [
    conf.ONE, conf.AGAIN, conf.BY_HAND[0], conf.BY_HAND[2],
    conf.Configuration("unstall auto", "pieces", LIB, "auto"),
    conf.Configuration("unstall auto, its thread", "pieces", LIB, "auto",
                       variables=(("UNSTALL_THREAD", "always"),)),
    conf.Configuration("unstall cork", "pieces", LIB, "cork"),
    conf.Configuration("unstall cork, its thread", "pieces", LIB, "cork",
                       variables=(("UNSTALL_THREAD", "always"),)),
    conf.Configuration("unstall coalesce, its thread", "pieces", LIB, "coalesce"),
]


@contextmanager
def stressed(cores):
    process = subprocess.Popen(["stress-ng", "--quiet", "--cpu", str(cores), "--timeout", "600"],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        time.sleep(1)
        yield
    finally:
        process.terminate()
        process.wait()


def measure(rounds):
    """configuration -> p50, p99 and p99.9 and their ratios to one send, and the reason if not measured."""
    if found("stress-ng"):
        return {}, "no stress-ng"
    with pinned(), running([program("peer")]) as peer, stressed(2):
        def once(configuration):
            argv = [program("client"), HOST, peer.said, SHAPE, configuration.way, "4000", "20",
                    str(EXCHANGES // 20), "tails"]
            return run_json(argv, configuration.env())
        return paired(COMPARED, once, rounds, also=("p99 ns", "p99.9 ns")), None
