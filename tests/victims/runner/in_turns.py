# SPDX-License-Identifier: MIT
"""Two programs that do the same, compared in pairs: load slows both halves of a round."""

import contextlib
import os
import statistics
import subprocess
from dataclasses import dataclass

# The first rounds warm caches and, under the library, nothing else: each round makes connections of its own.
_WARM = 10


@dataclass(frozen=True)
class Turns:
    """The medians of both in ms, and of the ratios within a round the quartiles."""
    ours_ms: float
    theirs_ms: float
    quartiles: tuple
    rounds: int

    @property
    def ratio(self):
        return self.quartiles[1]


@contextlib.contextmanager
def on_one_core():
    """Processes started inside share one core: on two cores chance would place the two sides."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


class _Client:
    """A program that, for each line it reads, does its work and says how many ms it took."""

    def __init__(self, treatment, command):
        self._treatment = treatment
        self._process = subprocess.Popen(list(map(str, command)), env=treatment.env(), bufsize=0,
                                         stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def once(self):
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(b"\n")
        said = self._process.stdout.readline()
        assert said, "the client has ended"
        return float(said)

    def __enter__(self):
        try:
            self.once()
            self._treatment.assert_in(self._process.pid)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.kill()
        self._process.wait()


def in_turns(ours, theirs, rounds):
    """Turns of two (treatment, argument list), the one or the other first in turn."""
    times = ([], [])
    with _Client(*ours) as one, _Client(*theirs) as other:
        for number in range(_WARM + rounds):
            for which in ((0, 1), (1, 0))[number % 2]:
                times[which].append((one, other)[which].once())
    mine, others = times[0][_WARM:], times[1][_WARM:]
    return compared(mine, others)


def compared(mine, others):
    """Turns of two lists of times, round by round."""
    ratios = [one / other for one, other in zip(mine, others)]
    return Turns(statistics.median(mine), statistics.median(others), tuple(statistics.quantiles(ratios, n=4)),
                 len(ratios))
