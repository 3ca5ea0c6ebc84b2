# SPDX-License-Identifier: MIT
"""The tests and intervals of the analysis, against scipy where it has them, and against their own
promises."""

import math

import numpy
import pytest
from scipy import stats

import trial  # (puts src/analysis on the path)
from harness import bare_env, run
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


def plain_ends(sums, weights, wanted):
    """The sums up to which, and from which, so much weight lies; by their sorted list."""
    order = numpy.argsort(sums)
    low, high = (sums[way][numpy.searchsorted(numpy.cumsum(weights[way]) + 1e-9, wanted)]
                 for way in (order, order[::-1]))
    return low, high


TABLES = {"normal": lambda r, n: r.normal(0.2, 1, n), "with ties": lambda r, n: r.integers(-2, 3, n) * 0.1,
          "equal": lambda r, n: numpy.full(n, 0.3), "zeros": lambda r, n: numpy.zeros(n),
          "Cauchy": lambda r, n: r.standard_cauchy(n),
          "two heaps": lambda r, n: r.choice([0.0, 7.0], n) + r.choice([0, 1e-15, 1e-9], n)}


@pytest.fixture(name="listed", params=[0, 10, ranks.LISTED])
def fixture_listed(request, monkeypatch):
    """Those few sums that are left in question are sorted."""
    monkeypatch.setattr(ranks, "LISTED", request.param)


@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.usefixtures("listed")
def test_estimate_and_interval_are_those_of_the_list_of_all_pairs(kind):
    """The list has the square of the units: 20 000 connections an arm took 24 GB."""
    random = numpy.random.default_rng(7)
    for sizes in [[(1, 1)], [(2, 5)], [(21, 30)], [(40, 37)], [(3, 8), (25, 2), (9, 9)],
                  [(30, 30), (40, 10)]]:
        arms = {str(at): TABLES[kind](random, m) for at, (m, _) in enumerate(sizes)}
        bases = {str(at): TABLES[kind](random, n) for at, (_, n) in enumerate(sizes)}
        pairs = [numpy.subtract.outer(arms[at], bases[at]).ravel() for at in arms]
        sums = numpy.concatenate(pairs)
        weights = numpy.concatenate([numpy.full(len(each), 1 / (len(arms[at]) + len(bases[at]) + 1))
                                     for at, each in zip(arms, pairs)])
        found = ranks.unpaired(arms, bases, 0.1)
        assert found.estimate == sum(plain_ends(sums, weights, weights.sum() / 2)) / 2
        assert found.effect == pytest.approx(numpy.sign(sums).mean())
        for wanted in (weights.sum() * 0.05, weights.sum() * 0.3):
            tables = [(arms[at], numpy.sort(-bases[at]), 1 / (len(arms[at]) + len(bases[at]) + 1))
                      for at in arms]
            assert ranks._ends(tables, wanted) == plain_ends(sums, weights, wanted)


@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("count", [1, 2, 6, 25, 40])
@pytest.mark.usefixtures("listed")
def test_the_paired_estimate_and_interval_are_those_of_all_means_of_two(kind, count):
    values = TABLES[kind](numpy.random.default_rng(count), count)
    means = numpy.sort((numpy.add.outer(values / 2, values / 2))[numpy.triu_indices(count)])
    found, cut = ranks.paired(values, 0.1), ranks._signed_rank_cut(count, 0.1)
    assert found.estimate == numpy.median(means)
    assert (found.low, found.high) == ((means[cut], means[-1 - cut]) if cut >= 0 else ranks.INFINITE)


def test_arms_in_the_other_order_have_the_other_sign():
    """The upper end was counted by pairs, the lower one by their weights."""
    random = numpy.random.default_rng(2)
    arm, base = ({"a": random.normal(0, 1, m), "b": random.normal(0, 3, n)} for m, n in ((30, 4), (20, 50)))
    there, back = ranks.unpaired(arm, base, 0.05), ranks.unpaired(base, arm, 0.05)
    assert (back.estimate, back.low, back.high) == (-there.estimate, -there.high, -there.low)


MANY = """
import random, resource
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
from inference.analysis import analyse
from record.histogram import Histogram
from record.results import Results, Unit
made = Results("live", {"arms": ["off", "auto"], "base": "off", "confidence": 0.95, "margin": 0.1}, {"h": {}})
for at in range(40000):
    arm, ns = ("off", "auto")[at % 2], int(random.lognormvariate(15 - at % 2, 0.3))
    made.units.append(Unit(arm, "h", exchanges=1, exchange_ns=ns, histogram=Histogram(4, {ns % 100: 1})))
print(round(analyse(made).against[0].contrast.estimate, 1))
made.units = made.units[:100] + [Unit("auto", "h", exchanges=1, exchange_ns=at) for at in range(10, 20000)]
print(analyse(made).against[0].contrast.units)
made.kind = "command"
for at, unit in enumerate(made.units):
    unit.arm, unit.block = ("off", "auto")[at % 2], at // 2
print(analyse(made).against[0].contrast.units)
"""


def test_a_busy_server_does_not_exhaust_the_memory():
    """20 000 connections an arm took 24 GB, and the kernel ended the command or the server."""
    done = run([trial.PYTHON, "-c", MANY], {**bare_env(), "PYTHONPATH": str(trial.ANALYSIS),
                                            "OPENBLAS_NUM_THREADS": "1"}, timeout=100)
    assert done.stdout.split() == ["-1.0", "20090", "10045"]


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
