# SPDX-License-Identifier: MIT
"""Histograms with the log-linear buckets of the statistics file (src/stats_file); its bounds never
change.

A histogram is a pair (steps, {bucket: count}).  Histograms of equal steps can be added.  Times are
nanoseconds here and milliseconds in every report.
"""

from dataclasses import dataclass, field

FIRST_OCTAVE = 10
STEPS = 32  # buckets an octave, in the histogram of a row; a connection's has fewer


def lowest(bucket, steps):
    """The lowest value of a bucket, in ns; `bucket` may be one past the last."""
    if bucket == 0:
        return 0
    octave = (bucket - 1) // steps + FIRST_OCTAVE
    return (1 << octave) + (((bucket - 1) % steps) << octave) // steps


@dataclass
class Histogram:
    """Counts by bucket."""
    steps: int = STEPS
    buckets: dict = field(default_factory=dict)

    @classmethod
    def of_json(cls, value):
        """From {"steps": 32, "buckets": [[n, count], ...]}; None gives an empty one."""
        if not value:
            return cls()
        return cls(int(value["steps"]), {int(n): int(count) for n, count in value["buckets"]})

    def json(self):
        """The form that `unstall report --json` uses."""
        return {"steps": self.steps, "buckets": [[n, self.buckets[n]] for n in sorted(self.buckets)]}

    @property
    def count(self):
        """The number of values."""
        return sum(self.buckets.values())

    def add(self, other):
        """Add the counts of another histogram of the same steps; an empty one takes the other's steps."""
        if not other.buckets:
            return self
        if not self.buckets:
            self.steps = other.steps
        if other.steps != self.steps:
            raise ValueError(f"histograms of {self.steps} and {other.steps} steps do not add up")
        for bucket, count in other.buckets.items():
            self.buckets[bucket] = self.buckets.get(bucket, 0) + count
        return self

    def quantile(self, share):
        """The value in ns below which this share lies, interpolated within its bucket; None if empty."""
        total = self.count
        if total == 0:
            return None
        wanted, seen = share * total, 0
        for bucket in sorted(self.buckets):
            count = self.buckets[bucket]
            if seen + count >= wanted:
                low, high = lowest(bucket, self.steps), lowest(bucket + 1, self.steps)
                return low + (high - low) * max(0.0, wanted - seen) / count
            seen += count
        return float(lowest(max(self.buckets) + 1, self.steps))

    def at_least(self, ns):
        """The number of values in buckets that begin at `ns` or above."""
        return sum(count for bucket, count in self.buckets.items()
                   if lowest(bucket, self.steps) >= ns)

    def bins(self):
        """[from ns, to ns, count] of each bucket used, in order."""
        return [[lowest(bucket, self.steps), lowest(bucket + 1, self.steps), self.buckets[bucket]]
                for bucket in sorted(self.buckets)]
