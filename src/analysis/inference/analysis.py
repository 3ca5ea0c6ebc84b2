# SPDX-License-Identifier: MIT
"""From units to numbers: a summary of each arm, and each arm compared with the base."""

import math
from dataclasses import asdict, dataclass, field

import numpy

from inference import sequence
from inference.ranks import Contrast, holm, paired, percentile_interval, resampled, unpaired
from record.histogram import Histogram, lowest
from record.late import IN_EXCHANGE_MS, SHORTEST_MS
from record.results import QUANTILES, SLOW_NS

DRAWS = 1000  # bootstrap draws: they give the ends of a 95 % interval to a few percent of its width
DRAWN = 2000  # that many are drawn at most: of more units, neighbours are drawn together


@dataclass
class Estimate:
    """A value with its bootstrap interval; None: not known."""
    value: float = None
    low: float = None
    high: float = None


@dataclass
class ArmSummary:
    """The numbers of one arm."""
    name: str
    units: int = 0
    exchanges: int = 0
    slow: int = 0            # exchanges of IN_EXCHANGE_MS and more
    stalls: int = None       # proved by the library
    held: str = None         # why most exchanges have a part that is held: "proved", "by its time"
    numbers: dict = field(default_factory=dict)  # mean, median, p90, p99, wall, cpu, segments, ...
    values: list = field(default_factory=list)   # the metric of each unit, in the order of the units
    histogram: Histogram = field(default_factory=Histogram)

    def number(self, name):
        """An estimate by its name; one without a value where it is not known."""
        return self.numbers.get(name) or Estimate()


@dataclass
class Comparison:
    """One arm against another in the metric."""
    arm: str
    base: str
    contrast: Contrast
    adjusted_p: float = 1.0
    difference: Estimate = field(default_factory=Estimate)  # in ms, of the metric pooled


@dataclass
class Analysis:
    """The whole analysis; verdict.py puts it into words."""
    metric: str
    base: str
    arms: dict
    against: list    # comparisons of each other arm with the base
    between: list    # comparisons of the other arms with each other
    anytime: bool
    confidence: float
    left_out: list   # arms in which the metric is not known
    strata: dict = field(default_factory=dict)  # host -> {arm: log ratio}

    def json(self):
        """For the file of results: plain numbers, null for a number that is not finite."""
        def plain(value):
            if isinstance(value, dict):
                return {key: plain(item) for key, item in value.items() if key != "histogram"}
            if isinstance(value, list):
                return [plain(item) for item in value]
            if isinstance(value, float) and not math.isfinite(value):
                return None
            return value
        made = plain(asdict(self))
        for name, arm in self.arms.items():
            made["arms"][name]["bins"] = arm.histogram.bins()
        return {**made, "slow_ms": IN_EXCHANGE_MS}


def usable_metric(results):
    """The metric of --metric; else the mean exchange, or wall time where fewer than two arms have
    exchanges."""
    asked = results.experiment.get("metric")
    if asked:
        return asked
    known = {unit.arm for unit in results.units if unit.exchanges}
    return "mean" if len(known) >= 2 or results.kind == "live" else "wall"


class Draws:
    """Bootstrap draws of units, within each stratum; the first draw is the whole sample.  Of more than DRAWN
    units neighbours, which were measured one after another, are drawn together, as one: `part` tells of each
    unit which it belongs to, and `weights` how often each draw has each part."""

    def __init__(self, units, random):
        together = math.ceil(len(units) / DRAWN)
        self.part, drawn, parts = numpy.zeros(len(units), int), [], 0
        members = {}
        for at, unit in enumerate(units):
            members.setdefault(unit.stratum, []).append(at)
        for _, found in sorted(members.items()):
            self.part[found] = parts + numpy.arange(len(found)) // together
            count = math.ceil(len(found) / together)
            drawn.append(resampled(count, DRAWS, random))
            parts += count
        self.weights = numpy.vstack([numpy.ones(parts), numpy.hstack(drawn)])

    def sums(self, known, values):
        """The sum over the units at these places, for each draw."""
        return self.weights @ numpy.bincount(self.part[known], values, self.weights.shape[1])


def pooled(units, metric, draws):
    """A metric over many units, for each of the draws; units that do not know it are left out."""
    known = [at for at, unit in enumerate(units) if unit.knows(metric)]
    if metric == "mean":
        return _ratio(draws, known, [units[at].exchange_ns for at in known],
                      [units[at].exchanges for at in known]) / 1e6
    if metric in QUANTILES:
        return _pooled_quantile([units[at].histogram for at in known], QUANTILES[metric], draws, known)
    values, part = numpy.array([units[at].value(metric) for at in known], float), draws.part[known]
    return numpy.array([numpy.median(numpy.repeat(values, row[part].astype(int))) for row in draws.weights])


def _ratio(draws, known, top, bottom):
    with numpy.errstate(invalid="ignore", divide="ignore"):
        return draws.sums(known, top) / draws.sums(known, bottom)


def _pooled_quantile(histograms, share, draws, known):
    used = sorted({bucket for each in histograms for bucket in each.buckets})
    steps = histograms[0].steps
    place = {bucket: at for at, bucket in enumerate(used)}
    counts = numpy.zeros((draws.weights.shape[1], len(used)))
    for part, histogram in zip(draws.part[known], histograms):
        for bucket, count in histogram.buckets.items():
            counts[part, place[bucket]] += count
    drawn = draws.weights @ counts
    below = numpy.cumsum(drawn, axis=1)
    wanted = share * below[:, -1]
    at = numpy.minimum((below < wanted[:, None]).sum(axis=1), len(used) - 1)
    rows = numpy.arange(len(drawn))
    before, inside = below[rows, at] - drawn[rows, at], drawn[rows, at]
    low = numpy.array([lowest(bucket, steps) for bucket in used], float)[at]
    high = numpy.array([lowest(bucket + 1, steps) for bucket in used], float)[at]
    with numpy.errstate(invalid="ignore", divide="ignore"):
        return (low + (high - low) * (wanted - before) / inside) / 1e6


def _per_message(units, count_of, draws):
    """A count for one message; None where no unit has that count."""
    known = [at for at, unit in enumerate(units) if count_of(unit) is not None and unit.messages]
    if not known:
        return None
    return _ratio(draws, known, [count_of(units[at]) for at in known],
                  [units[at].messages for at in known])


PER_MESSAGE = {
    "segments": lambda unit: unit.segments,
    "system_calls": lambda unit: unit.system_calls,
    "cpu_us": lambda unit: None if unit.user_s is None else (unit.user_s + unit.system_s) * 1e6,
}


def summarise(name, units, totals, confidence, random):
    """The summary of an arm.  `totals` are the rows of a live experiment, which also count the
    connections that ended between two reads of the statistics file."""
    arm = ArmSummary(name, len(units))
    whole = totals or units
    arm.exchanges = sum(u.exchanges or 0 for u in whole)
    arm.stalls = (sum(u.stalls for u in whole if u.stalls is not None)
                  if any(u.stalls is not None for u in whole) else None)
    for unit in whole:
        arm.histogram.add(unit.histogram)
    arm.slow = arm.histogram.at_least(SLOW_NS)
    if not units:
        return arm
    draws = Draws(units, random)
    for metric in ("mean", *QUANTILES, "wall", "cpu", "score"):
        if any(unit.knows(metric) for unit in units):
            drawn = pooled(units, metric, draws)
            scale = _rows_scale(metric, drawn[0], totals)
            arm.numbers[metric] = _estimate(drawn * scale, confidence)
    for cost, count_of in PER_MESSAGE.items():
        drawn = _per_message(units, count_of, draws)
        if drawn is not None:
            arm.numbers[cost] = _estimate(drawn, confidence)
    return arm


def find_held(arms):
    """A long time alone may be the server's own.  It tells of held bytes only if another arm is faster by a
    delayed acknowledgement."""
    medians = {arm.name: arm.number("median").value for arm in arms if arm.exchanges}
    fastest = min((median for median in medians.values() if median is not None), default=math.inf)
    for arm in arms:
        median = medians.get(arm.name)
        if median is None:
            continue
        if 2 * (arm.stalls or 0) > arm.exchanges:
            arm.held = "proved"
        elif 2 * arm.slow > arm.exchanges and median - fastest > SHORTEST_MS:
            arm.held = "by its time"


def _rows_scale(metric, coarse, totals):
    """Live: the factor from the connections' quantile to that of the rows.  The histogram of a
    connection has 4 buckets an octave and that of a row 32, so the rows give the value and the
    connections the interval."""
    if not totals or not coarse or not math.isfinite(coarse):
        return 1.0
    whole = Histogram()
    for unit in totals:
        whole.add(unit.histogram)
    fine = whole.quantile(QUANTILES[metric]) if metric in QUANTILES else None
    return fine / 1e6 / coarse if fine else 1.0


def _estimate(drawn, confidence):
    """The first draw is the whole sample, the others are the bootstrap."""
    if not math.isfinite(drawn[0]):
        return Estimate()
    return Estimate(float(drawn[0]), *percentile_interval(drawn[1:], confidence))


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
    """Live: stratum -> logarithms of the units' values.  Units of one connection and units of several, which
    vary less, are different strata of a host."""
    found = {}
    for unit in results.of_arm(arm):
        value = unit.value(metric)
        if value and value > 0:
            found.setdefault((unit.stratum, unit.together or 1), []).append(math.log(value))
    return found


def in_order_pairs(results, arm, base, metric):
    """Live, for the confidence sequence: log ratios of the k-th unit of one arm and the k-th of the
    other, of the same host, in the order in which the units were counted."""
    found = []
    arms, bases = logarithms(results, arm, metric), logarithms(results, base, metric)
    for stratum in arms:
        found += [a - b for a, b in zip(arms[stratum], bases.get(stratum, []))]
    return found


def contrast(results, arm, base, metric, alpha, anytime):
    """One arm against another; `anytime`: by the confidence sequence."""
    if results.paired:
        ratios, _ = log_ratios(results, arm, base, metric)
        return sequence.anytime(ratios, alpha) if anytime else paired(ratios, alpha)
    if anytime:
        return sequence.anytime(in_order_pairs(results, arm, base, metric), alpha)
    return unpaired(logarithms(results, arm, metric), logarithms(results, base, metric), alpha)


def _difference(results, arm, base, metric, confidence, random):
    """The difference of the pooled metric in ms; bootstrap by rounds where they are paired."""
    if results.paired:
        rounds = list(results.rounds().values())
        tops, bottoms = [r[arm] for r in rounds], [r[base] for r in rounds]
        if not rounds or not all(u.knows(metric) for u in tops + bottoms):
            return Estimate()
        draws = Draws(tops, random)
        return _estimate(pooled(tops, metric, draws) - pooled(bottoms, metric, draws), confidence)
    parts = []
    for name in (arm, base):
        units = [u for u in results.of_arm(name) if u.knows(metric)]
        if not units:
            return Estimate()
        parts.append(pooled(units, metric, Draws(units, random)))
    return _estimate(parts[0] - parts[1], confidence)


def measured_arms(results, metric):
    """The arms with a value of the metric."""
    return [arm for arm in results.arms
            if any(unit.knows(metric) for unit in results.of_arm(arm))]


def family(results, pairs, metric, confidence, anytime):
    """A family of comparisons that hold together: intervals by Bonferroni, p by Holm."""
    alpha = (1 - confidence) / max(1, len(pairs))
    made = [Comparison(arm, base, contrast(results, arm, base, metric, alpha, anytime))
            for arm, base in pairs]
    for comparison, p in zip(made, holm([comparison.contrast.p for comparison in made])):
        comparison.adjusted_p = p
    return made


def analyse(results, describing=True):
    """The whole analysis; without `describing` only the comparisons, which is all that a decision needs."""
    asked = results.experiment
    metric, confidence = usable_metric(results), asked["confidence"]
    anytime = bool(asked.get("until_sure") or asked.get("stop_if"))
    known = measured_arms(results, metric)
    base = asked["base"] if asked["base"] in known else (known or [asked["base"]])[0]
    others = [arm for arm in known if arm != base]
    random = numpy.random.default_rng(asked.get("seed", 0))
    against = family(results, [(arm, base) for arm in others], metric, confidence, anytime)
    between = family(results, [(a, b) for at, a in enumerate(others) for b in others[at + 1:]],
                     metric, confidence, anytime)
    made = Analysis(metric, base, {}, against, between, anytime, confidence,
                    [arm for arm in results.arms if arm not in known])
    if describing:
        for arm in results.arms:
            totals = [unit for unit in results.totals if unit.arm == arm]
            made.arms[arm] = summarise(arm, results.of_arm(arm), totals, confidence, random)
            made.arms[arm].values = [unit.value(metric) for unit in results.of_arm(arm)]
        find_held(made.arms.values())
        for comparison in against:
            comparison.difference = _difference(results, comparison.arm, base, metric, confidence, random)
        made.strata = by_stratum(results, others, base, metric)
    return made


def by_stratum(results, others, base, metric):
    """Results of several hosts: the log ratio on each."""
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
            arms, bases = ({}, {})
            for name, found_of in ((arm, arms), (base, bases)):
                for (host, _), values in logarithms(results, name, metric).items():
                    found_of.setdefault(host, []).extend(values)
            for host in sorted(set(arms) & set(bases)):
                found.setdefault(host, {})[arm] = float(numpy.median(arms[host]) - numpy.median(bases[host]))
    return found
