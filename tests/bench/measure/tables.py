# SPDX-License-Identifier: MIT
"""Numbers and tables as text."""

import textwrap


def table(head, lines):
    """A Markdown table, aligned, which reads well on a terminal too."""
    cells = [head, *[[str(c) for c in line] for line in lines]]
    widths = [max(len(line[i]) for line in cells) for i in range(len(head))]
    def text(line):
        return "| " + " | ".join(c.ljust(w) if i == 0 else c.rjust(w)
                                 for i, (c, w) in enumerate(zip(line, widths))) + " |"
    rule = "|" + "|".join("-" * (w + 2) if i == 0 else "-" * (w + 1) + ":"
                          for i, w in enumerate(widths)) + "|"
    return "\n".join([text(cells[0]), rule, *[text(line) for line in cells[1:]]])


def paragraph(text):
    """Prose in lines of at most 110 columns, as all our pages."""
    return textwrap.fill(text, 110, break_long_words=False, break_on_hyphens=False)


def digits(value):
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.2f}" if abs(value) < 10 else f"{value:.1f}"


def ratio(statistics):
    """The median with its quartiles."""
    if statistics["median"] >= 100:
        return digits(statistics["median"])
    if statistics["count"] == 1:
        return f"{statistics['median']:.2f} (one round)"
    return f"{statistics['median']:.3f} ({statistics['low']:.3f}–{statistics['high']:.3f})"
