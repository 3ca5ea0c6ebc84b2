# SPDX-License-Identifier: MIT
"""The pictures of the page: SVG by matplotlib.  Arms differ in line style, marker and hatch, so that
they can be read without colours.  Each picture has a text that states its content."""

import html
import io
import math
import re

import matplotlib
matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402  (the backend comes first)
from matplotlib.ticker import MaxNLocator, NullLocator  # noqa: E402

from report.style import LIGHT, themed  # noqa: E402

matplotlib.rcParams.update({
    "svg.fonttype": "none",  # text stays text: it can be searched, read aloud and copied
    "font.family": "sans-serif", "font.size": 9, "axes.spines.top": False,
    "axes.spines.right": False, "figure.constrained_layout.use": True, "legend.frameon": False,
    "legend.fontsize": 9, "grid.color": LIGHT["grid"], "grid.linewidth": 0.4,
})

NICE = [1, 2, 2.5, 5, 10]  # the steps between ticks, times a power of ten
WIDTH = 5.0  # inches: on a telephone the text is 9 pixels high, on a wide page 16

# A colour, a line, a marker and a hatch for each arm.
STYLES = [(LIGHT["ink"], "-", "o", ""), (LIGHT["arm2"], "--", "s", "//"), (LIGHT["line"], "-.", "^", ".."),
          (LIGHT["arm4"], ":", "D", "xx"), (LIGHT["arm5"], (0, (5, 1, 1, 1, 1, 1)), "v", "\\\\"),
          (LIGHT["arm6"], (0, (1, 3)), "P", "++")]


def style(analysis, arm):
    """Colour, line, marker and hatch of an arm."""
    return STYLES[list(analysis.arms).index(arm) % len(STYLES)]


def svg(figure, name, text):
    """The figure as an element of a page: no prolog, ids of its own, a text alternative."""
    out = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": name}):
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None, "Format": None,
                                                    "Type": None})
    plt.close(figure)
    body = out.getvalue()
    body = body[body.index("<svg"):]
    body = re.sub(r"<metadata>.*?</metadata>", "", body, flags=re.DOTALL)
    body = re.sub(r'\bid="([^"]+)"', rf'id="{name}-\1"', body)
    body = re.sub(r'(xlink:href="|url\()#', rf"\1#{name}-", body)
    title = html.escape(text)
    return re.sub(r"<svg\b", f'<svg role="img" aria-labelledby="{name}-title"', themed(body), count=1) \
        .replace(">", f'>\n<title id="{name}-title">{title}</title>', 1)


def log_ticks(low, high):
    """Round numbers on a log axis: powers of ten, with 2 and 5 between them where these are few, and
    evenly spaced numbers within less than a decade."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for factors in ((1,), (1, 2, 5)):
        found = [factor * 10.0 ** power for power in powers for factor in factors]
        found = [tick for tick in found if low <= tick <= high]
        if len(found) >= 3:
            return found
    return [tick for tick in MaxNLocator(5, steps=NICE).tick_values(low, high) if low <= tick <= high]


def log_axis(axis):
    """Make an x or y axis logarithmic, with plain numbers at its ticks and a grid."""
    axis.axes.set(**{f"{axis.axis_name}scale": "log"})
    ticks = log_ticks(*axis.get_view_interval())
    axis.set_minor_locator(NullLocator())
    axis.set_ticks(ticks, [f"{tick:g}" for tick in ticks])
    axis.grid(True)


def legend(axis, arms):
    """The names of the arms above the picture, where they cover nothing."""
    axis.legend(loc="lower left", bbox_to_anchor=(0, 1), ncol=min(3, len(arms)), borderaxespad=0.2)


def distribution(analysis):
    """The cumulative distribution of each arm's exchanges, time on a log axis."""
    shown = [arm for arm in analysis.arms.values() if arm.exchanges]
    if not shown:
        return None
    figure, axis = plt.subplots(figsize=(WIDTH, 3.2))
    for arm in shown:
        colour, line, marker, _ = style(analysis, arm.name)
        points = [(max(ns, 500) / 1e6, share) for ns, share in arm.histogram.cumulative()]
        axis.plot(*zip(*points), color=colour, linestyle=line, marker=marker, markersize=4,
                  markevery=max(1, len(points) // 8), label=arm.name, linewidth=1.6)
    log_axis(axis.xaxis)
    axis.set_xlabel("time of an exchange, ms")
    axis.set_ylabel("share of faster exchanges")
    axis.set_ylim(0, 1.02)
    axis.grid(True)
    legend(axis, shown)
    text = "Cumulative distribution of exchange times. " + " ".join(
        f"{arm.name}: half below {arm.number('median').value:.3g} ms, 99 of 100 below "
        f"{arm.number('p99').value:.3g} ms." for arm in shown if arm.number("median").value)
    return svg(figure, "distribution", text)


def differences(analysis):
    """The ratio of each arm to the base, with its interval.  An end without a bound is an arrow."""
    shown = [pair for pair in analysis.against if math.isfinite(pair.contrast.estimate)]
    if not shown:
        return None
    figure, axis = plt.subplots(figsize=(WIDTH, 0.9 + 0.36 * len(shown)))
    ends = [math.exp(x) for pair in shown for x in
            (pair.contrast.low, pair.contrast.high, pair.contrast.estimate) if abs(x) < 700]
    left, right = min([0.95, *ends]) * 0.9, max([1.05, *ends]) * 1.1
    for at, pair in enumerate(shown):
        c = pair.contrast
        colour, _, marker, _ = style(analysis, pair.arm)
        low = (math.exp(c.low), "|") if c.low > -700 else (left, "<")
        high = (math.exp(c.high), "|") if c.high < 700 else (right, ">")
        axis.plot([low[0], high[0]], [at, at], color=colour, linewidth=2)
        for end, mark in (low, high):
            axis.plot([end], [at], color=colour, marker=mark, markersize=9, clip_on=False)
        axis.plot([math.exp(c.estimate)], [at], color=colour, marker=marker, markersize=7)
    axis.axvline(1, color="black", linewidth=1, linestyle="--")
    axis.set_xlim(left, right)
    log_axis(axis.xaxis)
    axis.set_ylim(len(shown) - 0.4, -0.6)
    axis.set_yticks(range(len(shown)), [pair.arm for pair in shown])
    axis.set_xlabel(f"{analysis.metric}: ratio to {analysis.base} (left of 1 is faster), "
                    f"{analysis.confidence * 100:g} % interval")
    text = f"Ratio of each arm to {analysis.base}. " + " ".join(
        f"{pair.arm}: {math.exp(pair.contrast.estimate):.3g}, {interval(pair.contrast)}." for pair in shown)
    return svg(figure, "differences", text)


def interval(contrast):
    """The interval of a ratio, in words."""
    if not (math.isfinite(contrast.low) and math.isfinite(contrast.high)):
        return "no interval yet"
    return f"interval {math.exp(max(-700, contrast.low)):.3g} to {math.exp(min(700, contrast.high)):.3g}"


COSTS = (("segments", "data segments\nan exchange"), ("cpu_us", "CPU us\nan exchange"),
         ("system_calls", "system calls\nan exchange"))


def costs(analysis):
    """Segments, processor time and system calls an exchange: a bar for each arm, with its interval."""
    def has(arm, key):
        return arm.number(key).value is not None
    arms = [arm for arm in analysis.arms.values() if any(has(arm, key) for key, _ in COSTS)]
    if not arms:
        return None
    known = [(key, title) for key, title in COSTS if any(has(arm, key) for arm in arms)]
    figure, axes = plt.subplots(1, len(known), figsize=(WIDTH, 0.9 + 0.3 * len(arms)), squeeze=False,
                                sharey=True)
    texts = []
    for axis, (key, title) in zip(axes[0], known):
        shown = [(at, arm.name, arm.number(key)) for at, arm in enumerate(arms) if has(arm, key)]
        for at, name, value in shown:
            colour, _, _, hatch = style(analysis, name)
            axis.barh(at, value.value, 0.7, color="white", edgecolor=colour, hatch=hatch, linewidth=1.4)
            axis.errorbar(value.value, at, xerr=[[max(0, value.value - value.low)],
                                                 [max(0, value.high - value.value)]],
                          color="black", capsize=3, linewidth=1)
        axis.set_title(title, fontsize=9, loc="left")
        axis.set_xlim(left=0)
        axis.xaxis.set_major_locator(MaxNLocator(3, steps=NICE))
        texts.append(title.replace("\n", " ") + ": " +
                     ", ".join(f"{name} {value.value:.3g}" for _, name, value in shown) + ".")
    axes[0][0].set_yticks(range(len(arms)), [arm.name for arm in arms])
    axes[0][0].set_ylim(len(arms) - 0.4, -0.6)
    return svg(figure, "costs", " ".join(texts))


def timeline(results, analysis):
    """The metric of each round, or of each connection in the order in which it was counted."""
    figure, axis = plt.subplots(figsize=(WIDTH, 3.0))
    drawn = []
    for arm in analysis.arms:
        values = [unit.value(analysis.metric) for unit in results.of_arm(arm)]
        values = [value for value in values if value]
        if not values:
            continue
        drawn.append(arm)
        colour, line, marker, _ = style(analysis, arm)
        axis.plot(range(1, len(values) + 1), values, color=colour, linestyle=line, marker=marker,
                  markersize=4, linewidth=1, label=arm)
    if not drawn:
        plt.close(figure)
        return None
    axis.xaxis.set_major_locator(MaxNLocator(8, integer=True, min_n_ticks=1))
    axis.grid(True)
    log_axis(axis.yaxis)
    unit = "score" if analysis.metric == "score" else f"{analysis.metric}, ms"
    axis.set_ylabel(unit)
    axis.set_xlabel("round" if results.paired else "connection, in the order of counting")
    legend(axis, drawn)
    kind = "rounds" if results.paired else "connections"
    return svg(figure, "timeline", f"The {analysis.metric} of each arm over the {kind}, in order.")
