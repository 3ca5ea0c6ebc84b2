# SPDX-License-Identifier: MIT
"""The pictures of the page: SVG by matplotlib, told apart by line styles, markers and hatches, so
that they can be read without colours; each with a text that says what it shows."""

import html
import io
import math
import re

import matplotlib
matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402  (the backend comes first)

matplotlib.rcParams.update({
    "svg.fonttype": "none",  # text stays text: it can be searched, read aloud and copied
    "font.family": "sans-serif", "font.size": 9, "axes.spines.top": False,
    "axes.spines.right": False, "figure.constrained_layout.use": True,
})

# Dark to light, and each with a line, a marker and a hatch of its own.
STYLES = [("black", "-", "o", ""), ("#555555", "--", "s", "//"), ("#1f4e9e", "-.", "^", ".."),
          ("#8a4b08", ":", "D", "xx"), ("#2e7d32", (0, (5, 1, 1, 1, 1, 1)), "v", "\\\\"),
          ("#7b1fa2", (0, (1, 3)), "P", "++")]


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
    return re.sub(r"<svg\b", f'<svg role="img" aria-labelledby="{name}-title"', body, count=1) \
        .replace(">", f'>\n<title id="{name}-title">{title}</title>', 1)


def distribution(analysis):
    """The cumulative distribution of each arm's exchanges, time on a log axis."""
    shown = [arm for arm in analysis.arms.values() if arm.exchanges]
    if not shown:
        return None
    figure, axis = plt.subplots(figsize=(7.2, 3.6))
    for arm in shown:
        colour, line, marker, _ = style(analysis, arm.name)
        points = [(max(ns, 500) / 1e6, share) for ns, share in arm.histogram.cumulative()]
        axis.plot(*zip(*points), color=colour, linestyle=line, marker=marker, markersize=4,
                  markevery=max(1, len(points) // 8), label=arm.name, linewidth=1.6)
    axis.set_xscale("log")
    axis.set_xlabel("time of an exchange, ms")
    axis.set_ylabel("share that took less")
    axis.set_ylim(0, 1.02)
    axis.grid(True, which="major", linewidth=0.4, color="#cccccc")
    axis.legend(loc="best", frameon=True)
    text = "Cumulative distribution of exchange times. " + " ".join(
        f"{arm.name}: half below {arm.number('median').value:.3g} ms, 99 of 100 below "
        f"{arm.number('p99').value:.3g} ms." for arm in shown if arm.number("median").value)
    return svg(figure, "distribution", text)


def differences(analysis):
    """The ratio of each arm to the base, with its interval."""
    shown = [one for one in analysis.against if math.isfinite(one.contrast.estimate)]
    if not shown:
        return None
    figure, axis = plt.subplots(figsize=(7.2, 1.1 + 0.42 * len(shown)))
    ends = [math.exp(x) for one in shown for x in
            (one.contrast.low, one.contrast.high, one.contrast.estimate) if abs(x) < 700]
    left, right = min([0.95, *ends]) * 0.9, max([1.05, *ends]) * 1.1
    for at, one in enumerate(shown):
        c = one.contrast
        low = math.exp(c.low) if c.low > -700 else left
        high = math.exp(c.high) if c.high < 700 else right
        middle = math.exp(c.estimate)
        colour, _, marker, _ = style(analysis, one.arm)
        axis.plot([low, high], [at, at], color=colour, linewidth=2)
        axis.plot([low, high], [at, at], color=colour, linestyle="none", marker="|", markersize=9)
        axis.plot([middle], [at], color=colour, marker=marker, markersize=7)
    axis.axvline(1, color="black", linewidth=1, linestyle="--")
    axis.set_xscale("log")
    axis.set_xlim(left, right)
    axis.set_ylim(len(shown) - 0.4, -0.6)
    axis.set_yticks(range(len(shown)), [one.arm for one in shown])
    axis.set_xlabel(f"{analysis.metric}: ratio to {analysis.base} (left of 1 is faster), "
                    f"{analysis.confidence * 100:g} % interval")
    axis.grid(True, axis="x", linewidth=0.4, color="#cccccc")
    text = f"Ratio of each arm to {analysis.base}. " + " ".join(
        f"{one.arm}: {math.exp(one.contrast.estimate):.3g}, interval "
        f"{math.exp(max(-700, one.contrast.low)):.3g} to {math.exp(min(700, one.contrast.high)):.3g}."
        for one in shown)
    return svg(figure, "differences", text)


COSTS = (("segments", "data segments an exchange"), ("cpu_us", "CPU us an exchange"),
         ("system_calls", "system calls an exchange"))


def costs(analysis):
    """Segments, processor time and system calls an exchange."""
    known = [(key, title) for key, title in COSTS
             if any(arm.number(key).value is not None for arm in analysis.arms.values())]
    if not known:
        return None
    figure, axes = plt.subplots(1, len(known), figsize=(7.2, 2.6), squeeze=False)
    texts = []
    for axis, (key, title) in zip(axes[0], known):
        arms = [arm for arm in analysis.arms.values() if arm.number(key).value is not None]
        for at, arm in enumerate(arms):
            value = arm.number(key)
            colour, _, _, hatch = style(analysis, arm.name)
            axis.bar(at, value.value, color="white", edgecolor=colour, hatch=hatch, linewidth=1.4)
            axis.errorbar(at, value.value, yerr=[[max(0, value.value - value.low)],
                                                 [max(0, value.high - value.value)]],
                          color="black", capsize=3, linewidth=1)
        axis.set_xticks(range(len(arms)), [arm.name for arm in arms], rotation=30, ha="right")
        axis.set_title(title, fontsize=9, loc="left")
        axis.set_ylim(bottom=0)
        texts.append(title + ": " + ", ".join(f"{arm.name} {arm.number(key).value:.3g}"
                                              for arm in arms) + ".")
    return svg(figure, "costs", " ".join(texts))


def timeline(results, analysis):
    """What each round, or each connection in its order, was like."""
    figure, axis = plt.subplots(figsize=(7.2, 3.0))
    drawn = False
    for arm in analysis.arms:
        units = [unit for unit in results.of_arm(arm) if unit.value(analysis.metric)]
        if not units:
            continue
        drawn = True
        colour, line, marker, _ = style(analysis, arm)
        axis.plot(range(1, len(units) + 1), [unit.value(analysis.metric) for unit in units],
                  color=colour, linestyle=line, marker=marker, markersize=4, linewidth=1, label=arm)
    if not drawn:
        plt.close(figure)
        return None
    unit = "score" if analysis.metric == "score" else "ms"
    axis.set_yscale("log")
    axis.set_xlabel("round" if results.paired else "connection, in the order of judgement")
    axis.set_ylabel(f"{analysis.metric}, {unit}")
    axis.grid(True, which="major", linewidth=0.4, color="#cccccc")
    axis.legend(loc="best", frameon=True)
    what = "rounds" if results.paired else "connections"
    return svg(figure, "timeline", f"The {analysis.metric} of each arm over the {what}, in order.")
