# SPDX-License-Identifier: MIT
"""The results of one run of a victim."""

import statistics
from dataclasses import dataclass, field

from .in_turns import Turns
from .observed import Observed

# The first exchanges of a connection never stall: the receiver acknowledges its first segments at once.
WARM = 3


@dataclass(frozen=True)
class Measurement:
    """Exchange times after the warm-up, and the sick side's data segments an exchange (or None).

    If the times are of whole runs, `bare_ms` has the times of bare runs made in turns with them, so that a
    busy machine slows both alike. Where a load was measured, `rates` has the requests a second by name:
    "treated", and the others. `once` has the Turns with the same program sending once, bare;
    `observed` is the report's result on a run in mode observe.
    """
    times_ms: tuple
    segments: float = None
    bare_ms: tuple = ()
    rates: dict = field(default_factory=dict, hash=False)
    once: Turns = None
    observed: Observed = None

    @property
    def median(self):
        return statistics.median(self.times_ms)

    @property
    def gain(self):
        """By how much the median is under the bare one."""
        return statistics.median(self.bare_ms) - self.median

    @property
    def gain_of_shortest(self):
        """By how much the lower quartile is under the bare one. Other work makes runs longer, never shorter:
        beside a soak the median of a stalling msmtp was once 67 ms, and the bare one 84."""
        return _lower_quartile(self.bare_ms) - _lower_quartile(self.times_ms)

    @property
    def p90(self):
        return statistics.quantiles(self.times_ms, n=10, method="inclusive")[-1]


def _lower_quartile(times_ms):
    return statistics.quantiles(times_ms, n=4, method="inclusive")[0]


def measured(times_ms, counts=()):
    """A Measurement without the warm-up.

    `times_ms` has one time an exchange; `counts` the sick side's data segments so far, read after
    each exchange.
    """
    assert len(times_ms) > WARM + 5, f"only {len(times_ms)} exchanges: too few to judge"
    segments = None
    if counts:
        segments = (counts[-1] - counts[WARM - 1]) / (len(counts) - WARM)
    return Measurement(tuple(times_ms[WARM:]), segments)
