# SPDX-License-Identifier: MIT
"""Histograms as the statistics segment has them: log-linear, bounds frozen (src/segment/segment.h).

A histogram is a pair (steps, {bucket: count}); equal steps add up.  Times are nanoseconds here and
milliseconds where people read them.
"""

from dataclasses import dataclass, field

FIRST_OCTAVE = 10
OCTAVES = 27
STEPS = 32  # to the octave, of a row; a connection's own has COARSE_STEPS
COARSE_STEPS = 4


def lowest(bucket, steps):
    """The lowest value, in ns, that a bucket holds; `bucket` may be one past the last."""
    if bucket == 0:
        return 0
    octave = (bucket - 1) // steps + FIRST_OCTAVE
    return (1 << octave) + (((bucket - 1) % steps) << octave) // steps


def bucket_of(ns, steps):
    """The bucket that a value falls into."""
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
        """The same form as in a report."""
        return {"steps": self.steps, "buckets": [[n, self.buckets[n]] for n in sorted(self.buckets)]}

    @property
    def count(self):
        """How many values it has."""
        return sum(self.buckets.values())

    def add(self, other):
        """Take in another one; a coarser one may take in a finer one, never the other way."""
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
        """The value in ns below which this share lies, even within its bucket; None if empty."""
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
        """How many values lie in buckets that begin at `ns` or above."""
        return sum(count for bucket, count in self.buckets.items()
                   if lowest(bucket, self.steps) >= ns)

    def cumulative(self):
        """Points (ns, share of the values below) at the upper bound of each bucket used."""
        total, seen, points = self.count, 0, []
        for bucket in sorted(self.buckets):
            points.append((lowest(bucket, self.steps), seen / total))
            seen += self.buckets[bucket]
            points.append((lowest(bucket + 1, self.steps), seen / total))
        return points
