# SPDX-License-Identifier: MIT
"""Histograms with the log-linear buckets of the statistics file (src/stats_file); its bounds never
change.

A histogram is a pair (steps, {bucket: count}).  Histograms of equal steps can be added.  Times are
nanoseconds here and milliseconds in every report.
"""

from dataclasses import dataclass, field

FIRST_OCTAVE = 10
OCTAVES = 27
STEPS = 32        # buckets an octave, in the histogram of a row
COARSE_STEPS = 4  # ... and in that of a connection


def lowest(bucket, steps):
    """The lowest value of a bucket, in ns; `bucket` may be one past the last."""
    if bucket == 0:
        return 0
    octave = (bucket - 1) // steps + FIRST_OCTAVE
    return (1 << octave) + (((bucket - 1) % steps) << octave) // steps


def bucket_of(ns, steps):
    """The bucket of a value."""
    ns = int(ns)
    if ns < 1 << FIRST_OCTAVE:
        return 0
    octave = ns.bit_length() - 1
    if octave >= FIRST_OCTAVE + OCTAVES:
        return OCTAVES * steps + 1
    return 1 + (octave - FIRST_OCTAVE) * steps + (((ns - (1 << octave)) * steps) >> octave)


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

    @classmethod
    def of_values(cls, values_ns, steps=STEPS):
        """From single values."""
        made = cls(steps)
        for value in values_ns:
            bucket = bucket_of(value, steps)
            made.buckets[bucket] = made.buckets.get(bucket, 0) + 1
        return made

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
