# SPDX-License-Identifier: MIT
"""The picture of docs/benchmarks.md."""

from .exchanges import ROWS

LEFT_OUT = {"one send", "bare", "unstall off"}  # the limit is a line, the stall would need another scale
# Each has a contrast of 3 to white (WCAG 2.2, 1.4.11); tests/pages measures it.
COLOURS = {"one send, again": "#8a8a8a", "TCP_NODELAY": "#d07a3a", "corked by hand": "#a98545",
           "MSG_MORE by hand": "#6a9f4b", "preload: TCP_NODELAY": "#a8520f", "preload: cork": "#8c6d31",
           "unstall auto": "#1f4e9e", "unstall coalesce": "#4a90d9", "unstall cork": "#6690c0",
           "unstall nodelay": "#8a86cc"}


def draw(results, target):
    """Bars of ratios with their quartiles, a group for each row of the table."""
    import matplotlib
    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "unstall"  # the same numbers make the same file
    import matplotlib.pyplot as plt
    rows = [row for row in ROWS if row.name in results["rows"]]
    figure, axes = plt.subplots(len(rows), 1, figsize=(9, 1.9 * len(rows) + 0.6), squeeze=False)
    for axis, row in zip(axes[:, 0], rows):
        shown = [(n, s["ratio"]) for n, s in results["rows"][row.name].items() if n not in LEFT_OUT
                 and s["ratio"]["median"] < 100]
        names = [n for n, _ in shown]
        middle = [s["median"] for _, s in shown]
        errors = [[s["median"] - s["low"] for _, s in shown], [s["high"] - s["median"] for _, s in shown]]
        axis.barh(names, middle, xerr=errors, color=[COLOURS.get(n, "#888888") for n in names],
                  error_kw={"elinewidth": 0.8})
        axis.axvline(1, color="black", linewidth=0.8)
        axis.invert_yaxis()
        axis.tick_params(labelsize=7)
        axis.set_title(row.title, fontsize=9, loc="left")
        axis.set_xlim(left=0)
    axes[-1, 0].set_xlabel("time of an exchange, one send = 1 (median, quartiles)", fontsize=8)
    figure.tight_layout()
    figure.savefig(target, metadata={"Date": None})
