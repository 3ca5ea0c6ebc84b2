# SPDX-License-Identifier: MIT
"""The tests and intervals of an experiment of fixed length.

The unit is the round (paired: each round has every arm once, in random order) or, on a live server, the
connection (not paired).  The exchange is never the unit: the exchanges of one connection depend on each
other, and a test that takes them as independent finds a winner in every A/A experiment.

All times are logarithms, since an effect is a ratio.  All tests use ranks: a round that a busy machine
made ten times as slow is one outlier, and does not move the estimate as it moves a mean.  docs/ab.md
has the reasons.
"""

import functools
import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy

INFINITE = (-math.inf, math.inf)
EXACT_UP_TO = 300  # units; above, the normal approximation is good to the third digit


@dataclass
class Contrast:
    """One arm against another: logarithms of the ratio of their times."""
    estimate: float  # log ratio
    low: float
    high: float
    p: float        # two-sided
    effect: float   # -1: every unit faster, 0: as often faster as slower, 1: every unit slower
    units: int


def _midranks(values):
    """Twice the rank of each value, so that the mean rank of tied values is a whole number, too."""
    _, which, counts = numpy.unique(values, return_inverse=True, return_counts=True)
    return (2 * numpy.cumsum(counts) - counts + 1)[which]


def _sign_flips(doubled_ranks):
    """The distribution of the (doubled) sum of positive ranks when each sign is a fair coin."""
    distribution = numpy.ones(1)
    for rank in doubled_ranks:
        longer = numpy.zeros(len(distribution) + rank)
        longer[:len(distribution)] += distribution / 2
        longer[rank:] += distribution / 2
        distribution = longer
    return distribution


@functools.cache
def _untied_tail(units):
    """P(sum of positive ranks <= k) for k = 0, 1, ...; without ties."""
    return numpy.cumsum(_sign_flips(numpy.arange(1, units + 1)))


_normal_quantile = NormalDist().inv_cdf


def _normal_two_sided(z):
    return math.erfc(abs(z) / math.sqrt(2))


def signed_rank_p(differences):
    """Two-sided p of the Wilcoxon signed-rank test: the sign-flip permutation of the ranks, which is
    exact also with ties.  Differences of zero are left out."""
    values = numpy.asarray(differences, dtype=float)
    values = values[values != 0]
    if len(values) == 0:
        return 1.0
    ranks = _midranks(numpy.abs(values))
    positive, total = int(ranks[values > 0].sum()), int(ranks.sum())
    if len(values) > EXACT_UP_TO:
        spread = math.sqrt(float((ranks.astype(float) ** 2).sum())) / 2
        return _normal_two_sided((positive - total / 2) / spread)
    distribution = _sign_flips(ranks)
    tail = min(positive, total - positive)
    return float(min(1.0, 2 * distribution[:tail + 1].sum()))


def _signed_rank_cut(units, alpha):
    """The largest k with P(sum <= k) <= alpha / 2, or -1."""
    if units <= EXACT_UP_TO:
        return int(numpy.searchsorted(_untied_tail(units), alpha / 2, side="right")) - 1
    mean = units * (units + 1) / 4
    spread = math.sqrt(units * (units + 1) * (2 * units + 1) / 24)
    return max(-1, int(mean + _normal_quantile(alpha / 2) * spread))


def paired(differences, alpha):
    """Paired log ratios -> a contrast: Hodges and Lehmann's estimate, and the interval of all ratios that the
    signed-rank test does not reject."""
    values = numpy.asarray(differences, dtype=float)
    units = len(values)
    if units == 0:
        return Contrast(math.nan, *INFINITE, 1.0, 0.0, 0)
    walsh = numpy.sort(numpy.add.outer(values, values)[numpy.triu_indices(units)]) / 2
    cut = _signed_rank_cut(units, alpha)
    low, high = INFINITE
    if 0 <= cut < len(walsh) / 2:
        low, high = float(walsh[cut]), float(walsh[len(walsh) - 1 - cut])
    ranks = _midranks(numpy.abs(values))
    effect = float((numpy.sign(values) * ranks).sum() / ranks.sum())
    return Contrast(float(numpy.median(walsh)), low, high, signed_rank_p(values), effect, units)


def unpaired(arm, base, alpha):
    """Strata -> a contrast.  `arm` and `base` map each stratum (a host) to its units' logarithms.  Only
    units of the same stratum are compared (van Elteren's test, and its inversion)."""
    differences, weights, variance, centre = [], [], 0.0, 0.0
    larger, pairs, sizes = 0.0, 0, []
    for stratum in sorted(set(arm) & set(base)):
        a, b = numpy.asarray(arm[stratum], float), numpy.asarray(base[stratum], float)
        if len(a) == 0 or len(b) == 0:
            continue
        total = len(a) + len(b)
        weight = 1 / (total + 1)
        difference = numpy.subtract.outer(a, b).ravel()
        differences.append(difference)
        weights.append(numpy.full(len(difference), weight))
        centre += weight * len(difference) / 2
        _, ties = numpy.unique(numpy.concatenate([a, b]), return_counts=True)
        correction = float((ties ** 3 - ties).sum()) / (total * (total - 1))
        variance += weight ** 2 * len(difference) * (total + 1 - correction) / 12
        larger += float((difference > 0).sum() - (difference < 0).sum())
        pairs += len(difference)
        sizes.append((a, b))
    if not differences:
        return Contrast(math.nan, *INFINITE, 1.0, 0.0, 0)
    values, weight = numpy.concatenate(differences), numpy.concatenate(weights)
    order = numpy.argsort(values, kind="stable")
    values, below = values[order], numpy.cumsum(weight[order])
    estimate = float(values[min(len(values) - 1, int(numpy.searchsorted(below, below[-1] / 2)))])
    low, high, p = _unpaired_interval(values, below, centre, variance, alpha, sizes)
    return Contrast(estimate, low, high, p, larger / pairs, sum(len(a) + len(b) for a, b in sizes))


def _unpaired_interval(values, below, centre, variance, alpha, sizes):
    """Interval and p: exact for one stratum of few units, else by the normal approximation."""
    spread = math.sqrt(max(variance, 1e-300))
    reach = -_normal_quantile(alpha / 2) * spread
    positive = below[-1] - (below[numpy.searchsorted(values, 0, side="right") - 1]
                            if values[0] <= 0 else 0.0)
    ties = float((values == 0).sum()) * (below[-1] / len(values)) / 2
    p = _normal_two_sided((positive + ties - centre) / spread)
    cut = centre - reach  # weighted count of differences on one side that is still accepted
    if len(sizes) == 1 and min(map(len, sizes[0])) <= 20 and ties == 0:
        tail = _rank_sum_tail(len(sizes[0][0]), len(sizes[0][1]))
        count = int(round(positive / below[-1] * len(values)))
        p = float(min(1.0, 2 * tail[min(count, len(values) - count)]))
        cut = (int(numpy.searchsorted(tail, alpha / 2, side="right")) - 1 + 0.5) * below[0]
    if cut < below[0] / 2:
        return *INFINITE, p
    at = int(numpy.searchsorted(below, cut, side="right"))
    return float(values[min(at, len(values) - 1)]), float(values[max(0, len(values) - 1 - at)]), p


@functools.cache
def _rank_sum_tail(first, second):
    """P(Mann and Whitney's U <= k), exact, by the recurrence on the sample that has the largest value."""
    table = {}
    for m in range(first + 1):
        for n in range(second + 1):
            counts = numpy.zeros(m * n + 1)
            if m == 0 or n == 0:
                counts[0] = 1.0
            else:
                counts[n:] += table[m - 1, n] * (m / (m + n))
                shorter = table[m, n - 1]
                counts[:len(shorter)] += shorter * (n / (m + n))
            table[m, n] = counts
    return numpy.cumsum(table[first, second])


def holm(p_values):
    """Holm's adjustment of the p values, in the same order."""
    order = sorted(range(len(p_values)), key=lambda at: p_values[at])
    adjusted, least = [1.0] * len(p_values), 0.0
    for position, at in enumerate(order):
        least = max(least, min(1.0, p_values[at] * (len(p_values) - position)))
        adjusted[at] = least
    return adjusted


def resampled(count, draws, random):
    """Bootstrap: the number of times that each of `count` units is drawn; one row for each of `draws`."""
    return random.multinomial(count, numpy.full(count, 1 / count), size=draws)


def percentile_interval(draws, confidence):
    """The middle share of bootstrap draws; (nan, nan) without any."""
    draws = numpy.asarray(draws, float)
    draws = draws[numpy.isfinite(draws)]
    if len(draws) == 0:
        return math.nan, math.nan
    outside = (1 - confidence) / 2
    low, high = numpy.quantile(draws, [outside, 1 - outside])
    return float(low), float(high)
