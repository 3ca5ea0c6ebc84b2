# SPDX-License-Identifier: MIT
"""The pictures of an experiment.  Arms differ in dashes, marker and hatch, so that they can be read without
colours.  Each picture has a text that states its content; it is the empty text where there is nothing to
draw."""

import math
import statistics
from dataclasses import dataclass

from pages.chart import text_at
from pages.document import escape

SVG = "http://www.w3.org/2000/svg"
WIDTH, RIGHT, LINE = 440, 412, 24
TIMELINE_MOST = 1000  # points of an arm: the picture has 440 pixels
NICE = (1, 2, 2.5, 5, 10)  # the steps between ticks, times a power of ten

# The colour, dashes, marker and hatch of each arm.
STYLES = [("ink", "none", "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z", ""),
          ("arm2", "6 3", "M-3.5-3.5h7v7h-7z", "M0 8L8 0"),
          ("line", "8 3 2 3", "M0-4.5l4.5 8h-9z", "M3 3h2v2h-2z"),
          ("arm4", "2 3", "M0-5l5 5-5 5-5-5z", "M0 8L8 0M0 0L8 8"),
          ("arm5", "9 2 2 2 2 2", "M0 4.5l4.5-8h-9z", "M0 0L8 8"),
          ("arm6", "1 4", "M-1.5-4.5h3v3h3v3h-3v3h-3v-3h-3v-3h3z", "M4 0V8M0 4H8")]


def value_of(arm, key):
    """A number of an arm; None: it is not known."""
    return arm["numbers"].get(key, {}).get("value")


def style(arms, name):
    """The style of an arm."""
    return STYLES[list(arms).index(name) % len(STYLES)]


# ---- axes ------------------------------------------------------------------------------------------------

def linear_ticks(low, high, most=5, least=0):
    """Evenly spaced round numbers, at least so far apart."""
    raw = max((high - low) / most, least)
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(power * nice for nice in NICE if power * nice >= raw * (1 - 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [step * at for at in range(first, last + 1)]


def log_ticks(low, high):
    """Round numbers on a logarithmic axis: powers of ten, with 2 and 5 between them where these are few, and
    evenly spaced numbers within less than a decade."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for factors in ((1,), (1, 2, 5)):
        found = [factor * 10.0 ** power for power in powers for factor in factors]
        found = [tick for tick in found if low <= tick <= high]
        if len(found) >= 3:
            return found
    return linear_ticks(low, high)


@dataclass
class Axis:
    """From values to pixels."""
    low: float
    high: float
    start: float
    end: float
    logarithmic: bool = False
    most: int = 5   # ticks of a linear one
    least: int = 0  # between two of these

    def at(self, value):
        """The pixel of a value."""
        share = math.log(value / self.low) / math.log(self.high / self.low) if self.logarithmic else \
            (value - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)

    def ticks(self):
        """Pairs of a pixel and its number."""
        found = log_ticks(self.low, self.high) if self.logarithmic else \
            linear_ticks(self.low, self.high, self.most, self.least)
        return [(self.at(tick), f"{tick:g}") for tick in found]


def logarithmic(values, start, end):
    """The axis for these values; it goes somewhat beyond them."""
    return Axis(min(values) / 1.1, max(values) * 1.1, start, end, True)


# ---- shapes ----------------------------------------------------------------------------------------------

def _line(x1, y1, x2, y2, look):
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" style="{look}"/>'


def _marker(x, y, of):
    return f'<path d="{of[2]}" transform="translate({x:.1f} {y:.1f})" style="fill:var(--{of[0]})"/>'


def _curve(points, of, markers):
    """A line through the points, with about so many markers on it."""
    colour, dashes, _, _ = of
    every = max(1, len(points) // markers)
    text = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return [f'<polyline points="{text}" style="fill:none;stroke:var(--{colour});stroke-width:1.6;'
            f'stroke-dasharray:{dashes}"/>', *(_marker(x, y, of) for x, y in points[::every])]


def _below(axis, top, bottom, title=""):
    """A horizontal axis: a line of the grid and a number for each tick, and its title."""
    parts = [part for x, number in axis.ticks() for part in (
        _line(x, top, x, bottom, "stroke:var(--grid)"), text_at(x, bottom + 16, number, "middle"))]
    return [*parts, _line(axis.start, bottom, axis.end, bottom, "stroke:var(--ink)"),
            text_at(8, bottom + 34, title) if title else ""]


def _beside(axis, left, right, title):
    """A vertical axis, likewise; its title stands above it."""
    parts = [part for y, number in axis.ticks() for part in (
        _line(left, y, right, y, "stroke:var(--grid)"), text_at(left - 6, y + 4, number, "end"))]
    return [*parts, _line(left, axis.start, left, axis.end, "stroke:var(--ink)"),
            text_at(8, axis.end - 10, title)]


def _legend(arms, shown):
    """The names of the arms above the picture, where they cover nothing; and the y below them."""
    parts = []
    for at, name in enumerate(shown):
        x, y = 8 + at % 3 * 140, 14 + at // 3 * 18
        parts += _curve([(x, y - 4), (x + 14, y - 4), (x + 28, y - 4)], style(arms, name), 1)[:1]
        parts += [_marker(x + 14, y - 4, style(arms, name)), text_at(x + 36, y, name)]
    return parts, 14 + (len(shown) + 2) // 3 * 18


def _svg(name, height, text, parts):
    """The picture, with its text in its place."""
    return "\n".join([f'<svg xmlns="{SVG}" role="img" viewBox="0 0 {WIDTH} {height:.0f}"'
                      f' aria-labelledby="{name}-title">',
                      f'<title id="{name}-title">{escape(text)}</title>', *filter(None, parts), "</svg>"])


# ---- the pictures ----------------------------------------------------------------------------------------

def _cumulative(bins):
    """Points (ms, share of the values below) at both ends of each bin."""
    total, seen = sum(number for _, _, number in bins), 0
    for low, high, number in bins:
        yield max(low, 500) / 1e6, seen / total
        seen += number
        yield max(high, 500) / 1e6, seen / total


def distribution(arms):
    """The cumulative distribution of each arm's exchanges, time on a logarithmic axis."""
    points = {name: list(_cumulative(arm["bins"])) for name, arm in arms.items() if arm["bins"]}
    if not points:
        return ""
    legend, top = _legend(arms, points)
    top, left = top + 18, 50
    bottom = top + 180
    x = logarithmic([ms for curve in points.values() for ms, _ in curve], left, RIGHT)
    y = Axis(0, 1, bottom, top)
    parts = [*legend, *_below(x, top, bottom, "time of an exchange, ms"),
             *_beside(y, left, RIGHT, "share of faster exchanges")]
    for name, curve in points.items():
        parts += _curve([(x.at(ms), y.at(share)) for ms, share in curve], style(arms, name), 8)
    known = [(name, value_of(arms[name], "median"), value_of(arms[name], "p99")) for name in points]
    return _svg("distribution", bottom + 42, "Cumulative distribution of exchange times. " + " ".join(
        f"{name}: half below {half:.3g} ms, 99 of 100 below {most:.3g} ms." for name, half, most in known
        if half and most), parts)


def ratio_of(logarithm):
    """A ratio of times; None stays, and what is beyond all numbers is none."""
    return math.exp(logarithm) if logarithm is not None and abs(logarithm) < 700 else None


def _interval(low, high):
    return "no interval yet" if low is None or high is None else f"interval {low:.3g} to {high:.3g}"


def differences(analysis):
    """The ratio of each arm to the base, with its interval.  An end without a bound is an arrow."""
    shown = [(pair, *(ratio_of(pair["contrast"][key]) for key in ("low", "estimate", "high")))
             for pair in analysis["against"]]
    shown = [row for row in shown if row[2] is not None]
    if not shown:
        return ""
    top, left = 8, 84
    bottom = top + LINE * len(shown)
    x = logarithmic([0.95, 1.05, *(end for row in shown for end in row[1:] if end is not None)], left, RIGHT)
    one, sure = x.at(1), f"{analysis['confidence'] * 100:g} % interval"
    title = f"{analysis['metric']}: ratio to {analysis['base']} (left of 1 is faster), {sure}"
    parts = [*_below(x, top, bottom, title),
             _line(one, top, one, bottom, "stroke:var(--ink);stroke-dasharray:4 3")]
    for at, (pair, low, estimate, high) in enumerate(shown):
        of, y = style(analysis["arms"], pair["arm"]), top + LINE * (at + 0.5)
        look = f"stroke:var(--{of[0]});stroke-width:2"
        ends = (left if low is None else x.at(low), RIGHT if high is None else x.at(high))
        parts += [text_at(left - 8, y + 4, pair["arm"], "end"), _line(ends[0], y, ends[1], y, look)]
        for end, bound, tip in zip(ends, (low, high), (8, -8)):
            parts += [_line(end, y - 6, end, y + 6, look)] if bound is not None else \
                [_line(end, y, end + tip, y + side, look) for side in (-6, 6)]
        parts.append(_marker(x.at(estimate), y, of))
    texts = [f"{pair['arm']}: {estimate:.3g}, {_interval(low, high)}." for pair, low, estimate, high in shown]
    text = " ".join([f"Ratio of each arm to {analysis['base']}.", *texts])
    return _svg("differences", bottom + 42, text, parts)


COSTS = (("segments", ("data segments", "an exchange")), ("cpu_us", ("CPU us", "an exchange")),
         ("system_calls", ("system calls", "an exchange")))


def costs(arms):
    """Segments, processor time and system calls an exchange: a bar for each arm, with its interval."""
    def has(arm, key):
        return value_of(arm, key) is not None
    known = [(key, title) for key, title in COSTS if any(has(arm, key) for arm in arms.values())]
    shown = [name for name, arm in arms.items() if any(has(arm, key) for key, _ in known)]
    if not shown:
        return ""
    top, left, texts = 44, 84, []
    bottom, wide = top + LINE * len(shown), (RIGHT + 20 - left) / len(known)
    parts = [f'<defs>{"".join(_hatch(arms, name) for name in shown)}</defs>']
    parts += [text_at(left - 8, top + LINE * (at + 0.5) + 4, name, "end") for at, name in enumerate(shown)]
    for column, (key, title) in enumerate(known):
        rows = [(at, name, arms[name]["numbers"][key]) for at, name in enumerate(shown)
                if has(arms[name], key)]
        start = left + wide * column
        most = max(max(value["high"], value["value"]) for _, _, value in rows) or 1
        x = Axis(0, most * 1.05, start, start + wide - 24, most=2)
        parts += [*_below(x, top, bottom), text_at(start, 14, title[0]), text_at(start, 30, title[1])]
        for at, name, value in rows:
            parts += _bar(x, top + LINE * (at + 0.5), value, name, style(arms, name))
        texts.append(" ".join(title) + ": " + ", ".join(f"{name} {value['value']:.3g}"
                                                        for _, name, value in rows) + ".")
    return _svg("costs", bottom + 24, " ".join(texts), parts)


def _hatch(arms, name):
    colour, _, _, lines = style(arms, name)
    return (f'<pattern id="costs-{escape(name)}" width="8" height="8" patternUnits="userSpaceOnUse">'
            f'<path d="{lines}" style="fill:none;stroke:var(--{colour})"/></pattern>') if lines else ""


def _bar(axis, y, value, name, of):
    fill = f"url(#costs-{escape(name)})" if of[3] else "none"
    low, high = axis.at(value["low"]), axis.at(value["high"])
    look = "stroke:var(--ink);stroke-width:1"
    return [f'<rect x="{axis.start:.1f}" y="{y - 8:.1f}" width="{axis.at(value["value"]) - axis.start:.1f}"'
            f' height="16" style="fill:{fill};stroke:var(--{of[0]});stroke-width:1.4"/>',
            _line(low, y, high, y, look), *(_line(end, y - 4, end, y + 4, look) for end in (low, high))]


def timeline(analysis, what):
    """The metric of each round, or of each connection (or unit of several) in the order in which it was
    counted.  Where they are many, a point is the median of neighbours."""
    arms = analysis["arms"]
    values = {name: [value for value in arm["values"] if value] for name, arm in arms.items()}
    values = {name: found for name, found in values.items() if found}
    if not values:
        return ""
    legend, top = _legend(arms, values)
    top, left = top + 18, 58
    bottom = top + 160
    most = max(map(len, values.values()))
    every = math.ceil(most / TIMELINE_MOST)
    x = Axis(0.5, most + 0.5, left, RIGHT, least=1)
    curves = {}
    for name, found in values.items():
        neighbours = [found[first:first + every] for first in range(0, len(found), every)]
        curves[name] = [(at * every + (1 + len(part)) / 2, statistics.median(part))
                        for at, part in enumerate(neighbours)]
    y = logarithmic([value for curve in curves.values() for _, value in curve], bottom, top)
    metric = analysis["metric"]
    title = "round" if what == "round" else f"{what}, in the order of counting"
    title += f"; a point is the median of {every}" if every > 1 else ""
    parts = [*legend, *_below(x, top, bottom, title),
             *_beside(y, left, RIGHT, "score" if metric == "score" else f"{metric}, ms")]
    for name, curve in curves.items():
        parts += _curve([(x.at(at), y.at(value)) for at, value in curve], style(arms, name), 100)
    return _svg("timeline", bottom + 42, f"The {metric} of each arm over the {what}s, in order.", parts)
