# SPDX-License-Identifier: MIT
"""From units to numbers: what each arm did, and each arm against the base."""

import math
from dataclasses import asdict, dataclass, field

import numpy

from histogram import Histogram, lowest
from inference import Contrast, holm, paired, percentile_interval, resampled, unpaired
from results import QUANTILES, SLOW_NS
from sequence import anytime

DRAWS = 1000  # of the bootstrap: the ends of a 95 % interval are known to a few percent of its width


@dataclass
class Number:
    """A number with its bootstrap interval; None: not known."""
    value: float = None
    low: float = None
    high: float = None


@dataclass
class Arm:
    """All that is known of one arm."""
    name: str
    units: int = 0
    exchanges: int = 0
    slow: int = 0            # exchanges of 35 ms and more
    stalls: int = None       # proved by the library
    numbers: dict = field(default_factory=dict)  # mean, median, p90, p99, wall, cpu, segments, ...
    histogram: Histogram = field(default_factory=Histogram)

    def number(self, name):
        """A number by name, never None."""
        return self.numbers.get(name) or Number()


@dataclass
class Against:
    """One arm against another in the metric."""
    arm: str
    base: str
    contrast: Contrast
    adjusted_p: float = 1.0
    difference: Number = field(default_factory=Number)  # in ms, of the metric pooled


@dataclass
class Analysis:
    """The whole of it; verdict.py puts it into words."""
    metric: str
    base: str
    arms: dict
    against: list    # each arm but the base against the base
    between: list    # the others among each other
    anytime: bool
    confidence: float
    left_out: list   # arms in which the metric is not known
    strata: dict = field(default_factory=dict)  # host -> {arm: log ratio}

    def json(self):
        """For the file of results: plain numbers, null for what is not finite."""
        def plain(value):
            if isinstance(value, dict):
                return {key: plain(item) for key, item in value.items() if key != "histogram"}
            if isinstance(value, list):
                return [plain(item) for item in value]
            if isinstance(value, float) and not math.isfinite(value):
                return None
            return value
        return plain(asdict(self))


def usable_metric(results):
    """The metric asked for, or the one that most of the arms know."""
    asked = results.experiment.get("metric")
    if asked:
        return asked
    known = {unit.arm for unit in results.units if unit.exchanges}
    return "mean" if len(known) >= 2 or results.kind == "live" else "wall"


def pooled(units, metric, weights):
    """A metric over many units, for each row of weights (how often a unit counts)."""
    if metric == "mean":
        time = numpy.array([u.exchange_ns or 0 for u in units], float)
        count = numpy.array([u.exchanges or 0 for u in units], float)
        with numpy.errstate(invalid="ignore", divide="ignore"):
            return weights @ time / (weights @ count) / 1e6
    if metric in QUANTILES:
        return _pooled_quantile(units, QUANTILES[metric], weights)
    values = numpy.array([u.value(metric) if u.value(metric) is not None else math.nan
                          for u in units], float)
    return numpy.array([numpy.median(numpy.repeat(values, row.astype(int))) for row in weights])


def _pooled_quantile(units, share, weights):
    used = sorted({bucket for u in units for bucket in u.histogram.buckets})
    if not used:
        return numpy.full(len(weights), math.nan)
    steps = next(u.histogram.steps for u in units if u.histogram.buckets)
    counts = numpy.zeros((len(units), len(used)))
    place = {bucket: at for at, bucket in enumerate(used)}
    for row, unit in enumerate(units):
        for bucket, count in unit.histogram.buckets.items():
            counts[row, place[bucket]] = count
    drawn = weights @ counts
    below = numpy.cumsum(drawn, axis=1)
    wanted = share * below[:, -1]
    at = numpy.minimum((below < wanted[:, None]).sum(axis=1), len(used) - 1)
    rows = numpy.arange(len(weights))
    before, inside = below[rows, at] - drawn[rows, at], drawn[rows, at]
    low = numpy.array([lowest(bucket, steps) for bucket in used], float)[at]
    high = numpy.array([lowest(bucket + 1, steps) for bucket in used], float)[at]
    with numpy.errstate(invalid="ignore", divide="ignore"):
        return (low + (high - low) * (wanted - before) / inside) / 1e6


def _draws(units, random):
    """Bootstrap weights, drawn within each stratum."""
    weights = numpy.zeros((DRAWS, len(units)))
    for stratum in sorted({unit.stratum for unit in units}):
        members = [at for at, unit in enumerate(units) if unit.stratum == stratum]
        weights[:, members] = resampled(len(members), DRAWS, random)
    return weights


def _per_message(units, what, weights):
    """Something counted, for each message; None where nobody counted."""
    known = [at for at, unit in enumerate(units) if what(unit) is not None and unit.messages]
    if not known:
        return None
    top = numpy.array([what(units[at]) for at in known], float)
    bottom = numpy.array([units[at].messages for at in known], float)
    with numpy.errstate(invalid="ignore", divide="ignore"):
        return weights[:, known] @ top / (weights[:, known] @ bottom)


PER_MESSAGE = {
    "segments": lambda unit: unit.segments,
    "system_calls": lambda unit: unit.system_calls,
    "cpu_us": lambda unit: None if unit.user_s is None else (unit.user_s + unit.system_s) * 1e6,
}


def describe(name, units, totals, confidence, random):
    """An arm; `totals` are the rows of a live experiment, which know more than the connections."""
    arm = Arm(name, len(units))
    whole = totals or units
    arm.exchanges = sum(u.exchanges or 0 for u in whole)
    arm.stalls = (sum(u.stalls for u in whole if u.stalls is not None)
                  if any(u.stalls is not None for u in whole) else None)
    for unit in whole:
        arm.histogram.add(unit.histogram)
    arm.slow = arm.histogram.at_least(SLOW_NS)
    if not units:
        return arm
    weights = numpy.vstack([numpy.ones(len(units)), _draws(units, random)])
    for metric in ("mean", *QUANTILES, "wall", "cpu", "score"):
        if any(unit.value(metric) is not None for unit in units):
            known = [at for at, unit in enumerate(units) if unit.value(metric) is not None]
            drawn = pooled([units[at] for at in known], metric, weights[:, known])
            arm.numbers[metric] = _number(drawn * _finer(metric, drawn[0], totals), confidence)
    for name_of_it, what in PER_MESSAGE.items():
        drawn = _per_message(units, what, weights)
        if drawn is not None:
            arm.numbers[name_of_it] = _number(drawn, confidence)
    return arm


def _finer(metric, coarse, totals):
    """A connection's own histogram is coarse, and the mean of those judged is not that of all: the
    rows know better where the middle is, the connections how sure that is."""
    if not totals or not coarse or not math.isfinite(coarse):
        return 1.0
    whole = Histogram()
    for unit in totals:
        whole.add(unit.histogram)
    fine = whole.quantile(QUANTILES[metric]) if metric in QUANTILES else None
    return fine / 1e6 / coarse if fine else 1.0


def _number(drawn, confidence):
    """The first is the whole, the others are the bootstrap."""
    if not math.isfinite(drawn[0]):
        return Number()
    return Number(float(drawn[0]), *percentile_interval(drawn[1:], confidence))


def log_ratios(results, arm, base, metric):
    """Paired log ratios in the order of the rounds, and the stratum of each."""
    ratios, strata = [], []
    for (stratum, _), units in results.rounds().items():
        top, bottom = units[arm].value(metric), units[base].value(metric)
        if top and bottom and top > 0 and bottom > 0:
            ratios.append(math.log(top / bottom))
            strata.append(stratum)
    return ratios, strata


def logarithms(results, arm, metric):
    """Live: stratum -> logarithms of the units' values."""
    found = {}
    for unit in results.of_arm(arm):
        value = unit.value(metric)
        if value and value > 0:
            found.setdefault(unit.stratum, []).append(math.log(value))
    return found


def in_order_pairs(results, arm, base, metric):
    """Live, for the confidence sequence: the k-th unit of one arm with the k-th of the other, of
    the same host, in the order in which they were judged."""
    found = []
    arms, bases = logarithms(results, arm, metric), logarithms(results, base, metric)
    for stratum in arms:
        found += [a - b for a, b in zip(arms[stratum], bases.get(stratum, []))]
    return found


def contrast(results, arm, base, metric, alpha, always):
    """One arm against another."""
    if results.paired:
        ratios, _ = log_ratios(results, arm, base, metric)
        return anytime(ratios, alpha) if always else paired(ratios, alpha)
    if always:
        return anytime(in_order_pairs(results, arm, base, metric), alpha)
    return unpaired(logarithms(results, arm, metric), logarithms(results, base, metric), alpha)


def _difference(results, arm, base, metric, confidence, random):
    """In ms, of the pooled metric; drawn by rounds where they are paired."""
    if results.paired:
        rounds = list(results.rounds().values())
        tops, bottoms = [r[arm] for r in rounds], [r[base] for r in rounds]
        if not rounds or any(u.value(metric) is None for u in tops + bottoms):
            return Number()
        weights = numpy.vstack([numpy.ones(len(rounds)), _draws(tops, random)])
        return _number(pooled(tops, metric, weights) - pooled(bottoms, metric, weights), confidence)
    parts = []
    for name in (arm, base):
        units = [u for u in results.of_arm(name) if u.value(metric) is not None]
        if not units:
            return Number()
        parts.append(pooled(units, metric, numpy.vstack([numpy.ones(len(units)),
                                                         _draws(units, random)])))
    return _number(parts[0] - parts[1], confidence)


def measured_arms(results, metric):
    """The arms in which the metric is known."""
    return [arm for arm in results.arms
            if any(unit.value(metric) is not None for unit in results.of_arm(arm))]


def family(results, pairs, metric, confidence, always):
    """Contrasts that are to hold together: intervals by Bonferroni, p by Holm."""
    alpha = (1 - confidence) / max(1, len(pairs))
    made = [Against(arm, base, contrast(results, arm, base, metric, alpha, always))
            for arm, base in pairs]
    for one, p in zip(made, holm([one.contrast.p for one in made])):
        one.adjusted_p = p
    return made


def analyse(results, describing=True):
    """The whole analysis; without describing only what a decision needs."""
    asked = results.experiment
    metric, confidence = usable_metric(results), asked.get("confidence", 0.95)
    always = bool(asked.get("until_sure") or asked.get("stop_if"))
    known = measured_arms(results, metric)
    base = asked["base"] if asked["base"] in known else (known or [asked["base"]])[0]
    others = [arm for arm in known if arm != base]
    random = numpy.random.default_rng(asked.get("seed", 0))
    against = family(results, [(arm, base) for arm in others], metric, confidence, always)
    between = family(results, [(a, b) for at, a in enumerate(others) for b in others[at + 1:]],
                     metric, confidence, always)
    made = Analysis(metric, base, {}, against, between, always, confidence,
                    [arm for arm in results.arms if arm not in known])
    if describing:
        for arm in results.arms:
            totals = [unit for unit in results.totals if unit.arm == arm]
            made.arms[arm] = describe(arm, results.of_arm(arm), totals, confidence, random)
        for one in against:
            one.difference = _difference(results, one.arm, base, metric, confidence, random)
        made.strata = by_stratum(results, others, base, metric)
    return made


def by_stratum(results, others, base, metric):
    """The log ratio on each host, where there are several."""
    if len(results.machines) < 2:
        return {}
    found = {}
    for arm in others:
        if results.paired:
            ratios, strata = log_ratios(results, arm, base, metric)
            for stratum in sorted(set(strata)):
                mine = [r for r, s in zip(ratios, strata) if s == stratum]
                found.setdefault(stratum, {})[arm] = float(numpy.median(mine))
        else:
            arms, bases = logarithms(results, arm, metric), logarithms(results, base, metric)
            for stratum in sorted(set(arms) & set(bases)):
                found.setdefault(stratum, {})[arm] = float(
                    numpy.median(arms[stratum]) - numpy.median(bases[stratum]))
    return found
