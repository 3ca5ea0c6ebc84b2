# SPDX-License-Identifier: MIT
"""Pictures of a page: how long things took, on a logarithmic axis, and when they happened."""

import math

from pages.document import escape
from pages.words import count, time_of

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 440, 156, 48, 432, 24, 130
PIXELS, BARS = RIGHT - LEFT, 72


def _figure(caption, label, parts):
    return "\n".join([f"<figure>\n<figcaption>{escape(caption)}</figcaption>",
                      f'<svg role="img" viewBox="0 0 {WIDTH} {HEIGHT}" aria-label="{escape(label)}">', *parts,
                      f'<line x1="{LEFT}" y1="{BOTTOM}" x2="{RIGHT}" y2="{BOTTOM}"/>', "</svg>\n</figure>"])


def text_at(x, y, text, anchor="start"):
    """Words in a picture."""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _rectangle(x, width, height, above=0.0, style="fill: var(--line)"):
    return (f'<rect x="{x:.1f}" y="{BOTTOM - above - height:.1f}" width="{width:.1f}" height="{height:.1f}"'
            f' style="{style}"/>')


def _short(number):
    """So that it has room beside the axis."""
    for unit, name in ((10 ** 6, "M"), (1000, "k")):
        if number >= 10 * unit:
            return f"{number / unit:.{1 if number < 100 * unit else 0}f}{name}"
    return str(number)


def _how_many(most):
    """The vertical axis: from none to the highest bar, and their half where that is a whole number."""
    numbers = [0, most // 2, most] if most % 2 == 0 else [0, most]
    heights = [BOTTOM - number / most * (BOTTOM - TOP) for number in numbers]
    return [f'<line x1="{LEFT}" y1="{TOP}" x2="{LEFT}" y2="{BOTTOM}"/>',
            *(f'<line x1="{LEFT - 4}" y1="{y:.1f}" x2="{LEFT}" y2="{y:.1f}"/>' for y in heights),
            *(text_at(LEFT - 6, y + 4, _short(number), "end") for y, number in zip(heights, numbers))]


STALLED, OTHER = "fill: var(--stall)", "fill: none; stroke: var(--line)"


def distribution(bins, caption):
    """The distribution of times; `bins` are [from ns, to ns, count].  A line marks 40 ms."""
    bins = [(max(low, 1), high, number) for low, high, number in bins if number]
    if not bins:
        return ""
    # The axis has 1 ms and 100 ms in every picture.
    first = min(6, math.floor(math.log10(min(low for low, _, _ in bins))))
    last = max(8, math.ceil(math.log10(max(high for _, high, _ in bins))))

    def at(ns):
        return LEFT + (math.log10(ns) - first) / (last - first) * PIXELS
    bars = [0] * BARS
    for low, high, number in bins:
        bars[min(BARS - 1, max(0, int(((at(low) + at(high)) / 2 - LEFT) / PIXELS * BARS)))] += number
    forty = at(40e6)
    parts = _how_many(max(bars))
    # A pixel at least, so that one event of a million is visible.
    parts += [_rectangle(LEFT + n * PIXELS / BARS, PIXELS / BARS - 0.5,
                         max(1, bar / max(bars) * (BOTTOM - TOP))) for n, bar in enumerate(bars) if bar]
    parts += [f'<line x1="{forty:.1f}" y1="{TOP}" x2="{forty:.1f}" y2="{BOTTOM}" stroke-dasharray="4 3"'
              f' style="stroke: var(--stall)"/>', text_at(forty, 16, "40 ms", "middle")]
    parts += [text_at(at(10.0 ** decade), BOTTOM + 18, time_of(10 ** decade),
                      "start" if decade == first else "end" if decade == last else "middle")
              for decade in range(first, last + 1)]
    return _figure(caption, f"{count(sum(bars))} values on a logarithmic axis; 40 ms is marked", parts)


def timeline(stalled, other, part_ms, whole_ms, caption):
    """The number of exchanges in parts of equal length, of which the last may be shorter.  Those that stalled
    are filled, and the others are outlines on them."""
    most = max(map(sum, zip(stalled, other)), default=0)
    if not most:
        return ""
    whole = time_of(whole_ms * 1e6)
    legend = 6 + 10 - BOTTOM  # its boxes stand above the picture
    parts = [_rectangle(LEFT, 10, 10, -legend, STALLED), text_at(LEFT + 15, 16, "stalled"),
             _rectangle(LEFT + 80.5, 9, 10, -legend, OTHER), text_at(LEFT + 95, 16, "not stalled"),
             *_how_many(most)]
    unit, full = (BOTTOM - TOP) / most, PIXELS * part_ms / whole_ms
    for n, (slow, quick) in enumerate(zip(stalled, other)):
        x = LEFT + n * full
        wide = min(full, max(RIGHT - x, 1)) - 0.5
        if slow:
            parts.append(_rectangle(x, wide, max(1, unit * slow), 0, STALLED))
        if quick:
            parts.append(_rectangle(x + 0.5, wide - 1, unit * quick, unit * slow, OTHER))
    parts += [text_at(LEFT, BOTTOM + 18, "0"), text_at(RIGHT, BOTTOM + 18, whole, "end")]
    return _figure(caption, f"{count(sum(stalled))} stalled and {count(sum(other))} not, in {whole}", parts)
