# SPDX-License-Identifier: MIT
"""The tests and intervals of the analysis, against scipy where it has them, and against their own
promises."""

import math

import numpy
import pytest
from scipy import stats

import trial  # (puts src/analysis on the path)
from inference import ranks, sequence
from record import histogram

pytestmark = pytest.mark.no_library


def numbers(seed, count, middle=0.1):
    return numpy.random.default_rng(seed).normal(middle, 1, count)


@pytest.mark.parametrize("count", [1, 5, 12, 40])
def test_the_signed_rank_test_is_scipys(count):
    values = numbers(count, count)
    assert ranks.signed_rank_p(values) == pytest.approx(stats.wilcoxon(values, mode="exact").pvalue)


def test_the_signed_rank_test_with_ties_is_the_permutation_of_all_signs():
    values = numpy.array([1.0, 1.0, -1.0, 2.0, 2.0, 3.0, -0.5, 4.0])
    sizes = stats.rankdata(abs(values))
    half = sizes.sum() / 2
    observed = abs(sizes[values > 0].sum() - half)
    sums = (sum(size for at, size in enumerate(sizes) if signs >> at & 1)
            for signs in range(2 ** len(values)))
    extreme = sum(abs(found - half) >= observed - 1e-9 for found in sums)
    assert ranks.signed_rank_p(values) == pytest.approx(extreme / 2 ** len(values))


def test_equal_pairs_say_nothing():
    assert ranks.signed_rank_p([0.0, 0.0]) == 1
    assert ranks.paired([], 0.05).low == -math.inf


@pytest.mark.parametrize("seed", range(6))
def test_the_paired_interval_excludes_nothing_exactly_where_the_test_rejects(seed):
    found = ranks.paired(numbers(seed, 15, 0.6), 0.05)
    assert (found.low > 0 or found.high < 0) == (found.p < 0.05)
    assert found.low <= found.estimate <= found.high


def test_too_few_rounds_have_no_interval():
    found = ranks.paired([1.0, 1.1, 1.2, 1.3, 1.4], 0.05)
    assert (found.low, found.high) == (-math.inf, math.inf)
    assert ranks.paired([1.0, 1.1, 1.2, 1.3, 1.4, 1.5], 0.05).low == 1.0


@pytest.mark.parametrize("first, second", [(4, 4), (9, 7), (20, 60)])
def test_the_unpaired_test_is_scipys_where_it_is_exact(first, second):
    a, b = numbers(1, first, 0.5), numbers(2, second)
    assert ranks.unpaired({"h": a}, {"h": b}, 0.05).p == \
        pytest.approx(stats.mannwhitneyu(a, b, method="exact").pvalue)


def test_the_unpaired_test_is_scipys_where_units_are_many():
    a, b = numbers(1, 90, 0.4), numbers(2, 70)
    found = ranks.unpaired({"h": a}, {"h": b}, 0.05)
    theirs = stats.mannwhitneyu(a, b, method="asymptotic", use_continuity=False)
    assert found.p == pytest.approx(theirs.pvalue)
    assert (found.low > 0) == (found.p < 0.05)


def test_strata_keep_a_slow_host_from_looking_like_a_slow_arm():
    """Host b is ten times as slow and has most of one arm: only within a host is compared."""
    random = numpy.random.default_rng(3)
    fast = {"a": random.normal(0, 0.1, 40), "b": random.normal(2.3, 0.1, 10)}
    slow = {"a": random.normal(0, 0.1, 10), "b": random.normal(2.3, 0.1, 40)}
    assert ranks.unpaired(slow, fast, 0.05).p > 0.01
    assert abs(ranks.unpaired(slow, fast, 0.05).estimate) < 0.15
    together = ranks.unpaired({"x": numpy.concatenate(list(slow.values()))},
                                  {"x": numpy.concatenate(list(fast.values()))}, 0.05)
    assert together.p < 0.001  # the verdict without strata


def test_holms_correction():
    assert ranks.holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert ranks.holm([]) == []


def coverage(sure, tails, experiments=300, rounds=25):
    """How often an interval holds the truth; with `sure` at every look at once."""
    random = numpy.random.default_rng(11)
    truth, right = 0.3, 0
    for _ in range(experiments):
        values = truth + tails(random, rounds)
        if sure:
            looks = [sequence.anytime(values[:n], 0.05) for n in range(1, rounds + 1)]
        else:
            looks = [ranks.paired(values, 0.05)]
        right += all(found.low <= truth <= found.high for found in looks)
    return right / experiments


TAILS = {"normal": lambda r, n: r.normal(0, 1, n), "Cauchy": lambda r, n: r.standard_cauchy(n),
         "changing": lambda r, n: r.normal(0, 1, n) * numpy.exp(r.normal(0, 2, n))}


@pytest.mark.parametrize("tails", TAILS)
@pytest.mark.parametrize("sure", [False, True], ids=["one look", "a look after every round"])
def test_the_interval_holds_the_truth_whatever_the_tails(sure, tails):
    assert coverage(sure, TAILS[tails]) >= 0.92


def test_an_ordinary_interval_looked_at_after_every_round_would_not():
    """Why there is a confidence sequence: the error rate without it."""
    random = numpy.random.default_rng(11)
    missed = sum(any(not found.low <= 0 <= found.high
                     for found in (ranks.paired(values[:n], 0.05) for n in range(6, 41)))
                 for values in (random.normal(0, 1, 40) for _ in range(100)))
    assert missed / 100 > 0.12


def test_the_sequence_is_a_fair_bet():
    """Over all outcomes of n coins the capital is 1 in the mean: a martingale, so that Ville's
    inequality holds."""
    for n in (1, 2, 7, 20):
        mean = sum(math.comb(n, k) * math.exp(sequence.log_capital(k, n)) for k in range(n + 1)) / 2 ** n
        assert mean == pytest.approx(1)


def test_seven_rounds_that_agree_are_enough():
    assert sequence.anytime([0.5] * 6, 0.05).low == -math.inf
    found = sequence.anytime([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7], 0.05)
    assert (found.low, found.high, found.p < 0.05) == (0.1, 0.7, True)


def test_histograms_have_the_bounds_of_the_segment():
    """As src/stats_file/stats_format.h has them: 32 steps an octave from 2^10 ns, below and above apart."""
    for ns, bucket in [(0, 0), (1024, 1), (1056, 2), (2 ** 36, 833), (2 ** 37, 865)]:
        assert histogram.lowest(bucket, 32) == ns
    assert trial.BOUNDS == sorted(set(trial.BOUNDS))


def test_a_quantile_is_known_to_three_percent():
    values = sorted(numpy.random.default_rng(5).lognormal(13, 1, 5000))
    made = trial.histogram_of(values)
    for share in (0.5, 0.9, 0.99):
        assert made.quantile(share) == pytest.approx(values[int(share * 5000)], rel=0.035)


def test_histograms_of_other_steps_do_not_add_up():
    with pytest.raises(ValueError):
        histogram.Histogram(32, {80: 1}).add(histogram.Histogram(4, {10: 1}))
