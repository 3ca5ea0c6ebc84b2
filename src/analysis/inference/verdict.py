# SPDX-License-Identifier: MIT
"""The analysis in words: one verdict, and the command line that deploys the winner."""

import math
import shlex
from dataclasses import dataclass, field

from record.arms import MILDEST_FIRST

WINNER, SAME, OPEN, NOTHING = "winner", "no difference", "not enough data", "nothing measured"


@dataclass
class Verdict:
    """The outcome and the sentences that state it."""
    kind: str
    winner: str = None
    against: str = None
    ratio: tuple = None        # (estimate, low, high) of times, winner to loser
    largest: float = None      # SAME: every ratio lies between 1 / largest and largest
    more: int = None           # OPEN: an estimate of the rounds (connections) still needed
    sentences: list = field(default_factory=list)
    deploy: str = None

    def json(self):
        """For the file of results."""
        return {key: value for key, value in self.__dict__.items() if value is not None}


def percent(ratio):
    """A ratio as a change: 1.05 -> '5 %'."""
    change = abs(ratio - 1) * 100
    return f"{change:.0f} %" if change >= 9.5 else f"{change:.1f} %" if change >= 0.095 else "0.1 %"


def times(ratio):
    """1692.3 -> '1692'; 2.34 -> '2.3'."""
    return f"{ratio:.0f}" if ratio >= 10 else f"{ratio:.1f}"


def change(contrast, confidence):
    """A ratio of times with its interval, in words."""
    sure = f"{confidence * 100:g} % interval"
    ratio, low, high = (math.exp(x) if x < 700 else math.inf
                        for x in (contrast.estimate, contrast.low, contrast.high))
    if ratio <= 0.5 and high < 1:
        end = f"{times(1 / low)}" if low > 0 else "any number"
        return f"is {times(1 / ratio)} times as fast ({sure}: {times(1 / high)} to {end})"
    if ratio >= 2 and low > 1:
        end = f"{times(high)}" if math.isfinite(high) else "any number"
        return f"is {times(ratio)} times as slow ({sure}: {times(low)} to {end})"
    word = "less" if ratio < 1 else "more"
    sides = [f"{percent(x)} {'less' if x < 1 else 'more'}" if 0 < x < math.inf else "no bound"
             for x in (low, high)]
    if (low < 1) == (high < 1):
        sides = [side.rsplit(" ", 1)[0] if side != "no bound" else side for side in sides]
        if high <= 1:
            sides.reverse()
    return f"takes {percent(ratio)} {word} time ({sure}: {sides[0]} to {sides[1]})"


def amount(number):
    """A time with three significant digits."""
    if number is None or not math.isfinite(number):
        return "?"
    if number >= 1000:
        return f"{number / 1000:.3g} s"
    return f"{number:.3f} ms" if number < 1 else f"{number:.3g} ms"


def state_of(comparison, confidence, margin):
    """better, worse, same or open."""
    c, alpha = comparison.contrast, 1 - confidence
    if comparison.adjusted_p < alpha and (c.high < 0 or c.low > 0):
        return "better" if c.high < 0 else "worse"
    if max(abs(c.low), abs(c.high)) <= math.log(1 + margin):
        return "same"
    return "open"


def is_decided(analysis, margin):
    """True when every comparison with the base is decided, so that more rounds cannot change the verdict."""
    return bool(analysis.against) and all(
        state_of(pair, analysis.confidence, margin) != "open" for pair in analysis.against)


def missing(analysis, margin):
    """An estimate of the units still needed until the widest open interval fits the margin.  The width
    falls with the square root of their number."""
    most = None
    for pair in analysis.against:
        c = pair.contrast
        if state_of(pair, analysis.confidence, margin) != "open":
            continue
        if not (math.isfinite(c.low) and math.isfinite(c.high)) or c.units == 0:
            tests = max(1, len(analysis.against))
            least = math.ceil(math.log2(2 * tests / (1 - analysis.confidence)))
            needed = least + (4 if analysis.anytime else 1)
        else:
            half = max((c.high - c.low) / 2, 1e-9)
            # The interval must either exclude 1 or lie within the margin: the easier of both.
            goal = max(abs(c.estimate), math.log(1 + margin) - abs(c.estimate), 1e-3)
            needed = c.units * (half / goal) ** 2 * 1.2
        most = max(most or 0, math.ceil(needed) - c.units, 1)
    return most


def _find(comparisons, arm, base):
    """The comparison of two arms, and -1 where it was made the other way round, else 1."""
    for pair in comparisons:
        if (pair.arm, pair.base) == (arm, base):
            return pair, 1
        if (pair.arm, pair.base) == (base, arm):
            return pair, -1
    return None, 1


def beats(analysis, arm, other):
    """True where the first arm is significantly faster than the second."""
    pair, sign = _find(analysis.against + analysis.between, arm, other)
    if pair is None or pair.adjusted_p >= 1 - analysis.confidence:
        return False
    return pair.contrast.high < 0 if sign > 0 else pair.contrast.low > 0


def best_of(analysis, better):
    """The arm to recommend, and the arms that do not differ significantly from it."""
    estimate = {pair.arm: pair.contrast.estimate for pair in analysis.against}
    order = sorted(better, key=lambda arm: estimate[arm])
    equals = [arm for arm in order if not beats(analysis, order[0], arm)]
    chosen = min(equals, key=lambda arm: (MILDEST_FIRST.index(arm) if arm in MILDEST_FIRST else 99,
                                          estimate[arm]))
    return chosen, [arm for arm in equals if arm != chosen]


def deploy_line(arm, results):
    """The command line that runs the program with the winner; None where nothing is to be done."""
    if results.experiment.get("target"):  # the arms were given in the kernel, and are put back
        return None if arm == "off" else \
            f"unstall attach --detach --mode always {results.experiment['target']}"
    if results.experiment.get("pid"):
        return f"unstall set {results.experiment['pid']} {arm}"  # holds until the process is restarted
    command = results.experiment.get("server") or results.experiment.get("command")
    if not command:
        return f"UNSTALL_MODE={arm} LD_PRELOAD=libunstall.so PROGRAM"
    words = " ".join(map(shlex.quote, command)) if isinstance(command, list) else command
    if arm in ("bare", "off", "observe"):
        return words
    return f"unstall run --mode {arm} -- {words}"


def _unit_word(results, count):
    """round, rounds, connection, ..."""
    word = "unit" if results.together > 1 else {"peer": "peer", "listener": "listener"}.get(
        results.experiment.get("assignment"), "connection") if not results.paired else "round"
    return word if count == 1 else word + "s"


def judge(analysis, results):
    """The verdict on an analysis."""
    margin = results.experiment["margin"]
    made = _judge(analysis, results, margin)
    known = [analysis.base, *(pair.arm for pair in analysis.against)]
    if analysis.left_out and len(known) > 1:
        what = ", ".join(analysis.left_out)
        made.sentences.append(f"Not compared, because the {analysis.metric} is not known there: {what}.")
    return made


def _judge(analysis, results, margin):
    if not analysis.against:
        return Verdict(NOTHING, sentences=[
            "Nothing to compare: fewer than two arms have a value of the same metric."])
    states = {pair.arm: state_of(pair, analysis.confidence, margin) for pair in analysis.against}
    better = [arm for arm, state in states.items() if state == "better"]
    if better:
        return _winner(analysis, results, better)
    worse = [pair for pair in analysis.against if states[pair.arm] == "worse"]
    if worse and all(state in ("worse", "same") for state in states.values()):
        return _base_wins(analysis, results, worse)
    if all(state == "same" for state in states.values()):
        return _no_difference(analysis)
    return _not_enough(analysis, results, margin, worse)


def _numbers(analysis, arm, base):
    """': 44.0 ms -> 0.026 ms', or nothing; and True where they say that the arm is slower.  By ranks it may
    be faster all the same: one very slow unit moves a mean."""
    if not analysis.arms or analysis.metric == "score":
        return "", False
    before = analysis.arms[base].number(analysis.metric).value
    after = analysis.arms[arm].number(analysis.metric).value
    if before is None or after is None:
        return "", False
    return f": {amount(before)} -> {amount(after)}", after > before


def _winner(analysis, results, better):
    arm, equals = best_of(analysis, better)
    pair, _ = _find(analysis.against, arm, analysis.base)
    c = pair.contrast
    numbers, contrary = _numbers(analysis, arm, analysis.base)
    lines = [f"{arm} wins{'' if contrary else numbers}. It "
             f"{change(c, analysis.confidence)} against {analysis.base}."]
    if contrary:
        lines.append(f"Over all {_unit_word(results, 2)} together it is the other way round{numbers}.")
    if equals:
        lines.append(f"No significant difference from it: {', '.join(equals)}.")
    worse = [pair.arm for pair in analysis.against if pair.contrast.low > 0 and
             pair.adjusted_p < 1 - analysis.confidence]
    if worse:
        lines.append(f"Slower than {analysis.base}: {', '.join(worse)}.")
    return Verdict(WINNER, arm, analysis.base, tuple(map(_exp, (c.estimate, c.low, c.high))),
                   sentences=lines, deploy=deploy_line(arm, results))


def _base_wins(analysis, results, worse):
    lines = [f"{analysis.base} wins: {pair.arm} {change(pair.contrast, analysis.confidence)}."
             for pair in worse]
    c = worse[0].contrast
    return Verdict(WINNER, analysis.base, worse[0].arm,
                   tuple(map(_exp, (-c.estimate, -c.high, -c.low))), sentences=lines,
                   deploy=deploy_line(analysis.base, results))


def _no_difference(analysis):
    largest = math.exp(max(max(abs(pair.contrast.low), abs(pair.contrast.high))
                           for pair in analysis.against))
    arms = ", ".join(pair.arm for pair in analysis.against)
    return Verdict(SAME, largest=largest, sentences=[
        f"No difference larger than {percent(largest)} between {analysis.base} and {arms} "
        f"({analysis.confidence * 100:g} %)."])


def _not_enough(analysis, results, margin, worse):
    more = missing(analysis, margin)
    units = min(pair.contrast.units for pair in analysis.against)
    bounded = all(math.isfinite(pair.contrast.low) for pair in analysis.against)
    lines = [f"Not enough data: {units} {_unit_word(results, units)} compared, "
             f"{'about' if bounded else 'at least'} {more} more {_unit_word(results, more)} needed."]
    for pair in sorted(analysis.against, key=lambda pair: pair.contrast.estimate):
        if math.isfinite(pair.contrast.low) and math.isfinite(pair.contrast.high):
            lines.append(f"So far {pair.arm} {change(pair.contrast, analysis.confidence)}.")
    for pair in worse:
        lines.append(f"Slower than {analysis.base}: {pair.arm}.")
    return Verdict(OPEN, more=more, sentences=lines)


def _exp(x):
    return math.exp(x) if x < 700 else None
