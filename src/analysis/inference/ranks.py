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
LISTED = 10_000    # sums that are left in question: they are sorted


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


def _before(table, begin, end, compare, value):
    """For each row of a table, how many columns have a sum that is less than a value (or not larger:
    `compare` says which); known to lie between `begin` and `end`."""
    rows, columns, _ = table
    begin, end = begin.copy(), end.copy()
    while len(asked := numpy.flatnonzero(begin < end)):
        middle = (begin[asked] + end[asked]) // 2
        less = compare(rows[asked] + columns[middle], value)
        begin[asked[less]], end[asked[~less]] = middle[less] + 1, middle[~less]
    return begin


def _listed(table, begin, end):
    """The sums of these parts of the rows, and their weights."""
    rows, columns, weight = table
    lengths = end - begin
    at = numpy.arange(lengths.sum()) + numpy.repeat(begin - numpy.cumsum(lengths) + lengths, lengths)
    return numpy.repeat(rows, lengths) + columns[at], numpy.full(len(at), weight)


def _least(tables, wanted):
    """The least sum of a row and a column such that all sums up to it weigh as much as is wanted.  A table is
    (rows, sorted columns, the weight of each sum).  No list of all sums is made: twice 20 000 units have 400
    million.  Each row has a part that is still in question, and the median of the middles of these parts,
    by their lengths, cuts off a quarter of all, until few are left, or equal ones.  Rounding keeps the order
    of sums, so the result is exact."""
    begin = [numpy.zeros(len(rows), int) for rows, _, _ in tables]
    end = [numpy.full(len(rows), len(columns)) for rows, columns, _ in tables]

    wanted *= 1 - 1e-11  # sums of weights are rounded

    def weight(counts):
        return sum(table[2] * int(count.sum()) for table, count in zip(tables, counts))

    def before(compare, value, low, high):
        return [_before(*each, compare, value) for each in zip(tables, low, high)]

    while True:
        middles = numpy.concatenate([rows + columns[numpy.minimum((low + high) // 2, len(columns) - 1)]
                                     for (rows, columns, _), low, high in zip(tables, begin, end)])
        order = numpy.argsort(middles)
        lengths = numpy.cumsum(numpy.concatenate([high - low for low, high in zip(begin, end)])[order])
        if lengths[-1] <= LISTED:
            sums, weights = map(numpy.concatenate, zip(*map(_listed, tables, begin, end)))
            order = numpy.argsort(sums)
            up_to = weight(begin) + numpy.cumsum(weights[order])
            return float(sums[order[numpy.searchsorted(up_to, wanted)]])
        value = middles[order[numpy.searchsorted(lengths, lengths[-1] / 2)]]
        less = before(numpy.less, value, begin, end)
        if weight(less) >= wanted:
            end = less
            continue
        begin = before(numpy.less_equal, value, less, end)
        if weight(begin) >= wanted:
            return float(value)


def _ends(tables, wanted):
    """The sum with so much weight up to it, and the one with as much from it."""
    return (_least(tables, wanted),
            0 - _least([(-rows, -columns[::-1], weight) for rows, columns, weight in tables], wanted))


def paired(differences, alpha):
    """Paired log ratios -> a contrast: Hodges and Lehmann's estimate, and the interval of all ratios that the
    signed-rank test does not reject.  Both are order statistics of the means of two ratios, one with itself
    too: of each sum of a row and a column, which has every mean twice, and once more that of one with
    itself."""
    values = numpy.sort(numpy.asarray(differences, dtype=float)) / 2
    units = len(values)
    if units == 0:
        return Contrast(math.nan, *INFINITE, 1.0, 0.0, 0)
    walsh = [(values, values, 0.5), (2 * values, numpy.zeros(1), 0.5)]
    means = units * (units + 1) / 2
    cut = _signed_rank_cut(units, alpha)
    low, high = _ends(walsh, cut + 1) if 0 <= cut < means / 2 else INFINITE
    ranks = _midranks(numpy.abs(values))
    effect = float((numpy.sign(values) * ranks).sum() / ranks.sum())
    return Contrast(sum(_ends(walsh, means / 2)) / 2, low, high, signed_rank_p(values), effect, units)


def unpaired(arm, base, alpha):
    """Strata -> a contrast.  `arm` and `base` map each stratum (a host) to its units' logarithms.  Only
    units of the same stratum are compared (van Elteren's test, and its inversion)."""
    tables, variance, positive, ties = [], 0.0, 0.0, 0.0
    larger, pairs = 0, 0
    for stratum in sorted(set(arm) & set(base)):
        a, b = (numpy.sort(numpy.asarray(side[stratum], float)) for side in (arm, base))
        if len(a) == 0 or len(b) == 0:
            continue
        total = len(a) + len(b)
        weight = 1 / (total + 1)
        tables.append((a, -b[::-1], weight))
        below, not_above = (int(numpy.searchsorted(b, a, side).sum()) for side in ("left", "right"))
        positive += weight * below
        ties += weight * (not_above - below) / 2
        _, equal = numpy.unique(numpy.concatenate([a, b]), return_counts=True)
        correction = float((equal.astype(float) ** 3 - equal).sum()) / (total * (total - 1))
        variance += weight ** 2 * len(a) * len(b) * (total + 1 - correction) / 12
        larger += below + not_above - len(a) * len(b)
        pairs += len(a) * len(b)
    if not tables:
        return Contrast(math.nan, *INFINITE, 1.0, 0.0, 0)
    whole = sum(weight * (len(a) * len(b)) for a, b, weight in tables)
    cut, p = _unpaired_cut(tables, positive, ties, whole, variance, alpha)
    low, high = INFINITE if cut < min(weight for _, _, weight in tables) / 2 else _ends(tables, cut)
    return Contrast(sum(_ends(tables, whole / 2)) / 2, low, high, p, larger / pairs,
                    sum(len(a) + len(b) for a, b, _ in tables))


def _unpaired_cut(tables, positive, ties, whole, variance, alpha):
    """The weight of the differences on one side that is still accepted, and p: exact for one stratum of few
    units, else by the normal approximation."""
    spread = math.sqrt(max(variance, 1e-300))
    first, second = sorted(map(len, tables[0][:2]))
    if len(tables) > 1 or first > 20 or second > EXACT_UP_TO or ties:
        return (whole / 2 + _normal_quantile(alpha / 2) * spread,
                _normal_two_sided((positive + ties - whole / 2) / spread))
    tail = _rank_sum_tail(first, second)
    count = round(positive / whole * first * second)
    return ((int(numpy.searchsorted(tail, alpha / 2, side="right")) - 0.5) * tables[0][2],
            float(min(1.0, 2 * tail[min(count, first * second - count)])))


@functools.cache
def _rank_sum_tail(first, second):
    """P(Mann and Whitney's U <= k), exact, by the recurrence on the sample that has the largest value."""
    shorter = [numpy.ones(1)] * (second + 1)  # of one unit less in the first sample, and of each second one
    for m in range(1, first + 1):
        row = [numpy.ones(1)]
        for n in range(1, second + 1):
            counts = numpy.zeros(m * n + 1)
            counts[n:] += shorter[n] * (m / (m + n))
            counts[:len(row[-1])] += row[-1] * (n / (m + n))
            row.append(counts)
        shorter = row
    return numpy.cumsum(shorter[second])


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
