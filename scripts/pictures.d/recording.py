#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Draws a terminal as an SVG.

    recording.py COMMAND FILE PICTURE

FILE is the output of COMMAND, as text.  "-" is standard input: its lines appear one after the other, at the
times at which they came, and COMMAND is empty, because they have their own prompts.  It plays once, faster
than it was if that took long, and says so.  All lines stand there at once for readers that ask for no motion,
on paper, and in programs without animation.
"""

import re
import sys
import time
from pathlib import Path
from xml.sax.saxutils import escape

PLAYS_S = 8.0
CELL, LINE, MARGIN, COLUMNS = 8.4, 20, 14, 78  # or more

STYLE = """svg{--ink:#1b1f23;--paper:#f6f8fa;--line:#57606a;fill:var(--ink)}
@media (prefers-color-scheme:dark){svg{--ink:#e6edf3;--paper:#15181b;--line:#9aa4ae}}
@media print{svg{--ink:#000;--paper:#fff}}
text{font:14px monospace;white-space:pre}.n{font:12px sans-serif;fill:var(--line)}
.l{animation:l .2s both}@keyframes l{from{opacity:0}to{opacity:1}}
@media (prefers-reduced-motion:reduce){.l{animation:none}}@media print{.l{animation:none}}"""


def lines_of(stream):
    """(seconds, text) of each line, as it comes."""
    found, begins = [], time.monotonic()
    for line in stream:
        found.append((time.monotonic() - begins, line.rstrip()))
    return found


def drawn(number, text, delay):
    """A line of the terminal.  textLength keeps the columns where another font is wider."""
    later = f' class="l" style="animation-delay:{delay:.2f}s"' if delay else ""
    return (f'<text xml:space="preserve" x="{MARGIN}" y="{MARGIN + LINE * (number + 1)}"'
            f' textLength="{len(text) * CELL:.1f}" lengthAdjust="spacingAndGlyphs"{later}>'
            f"{escape(text)}</text>")


def picture(command, lines):
    """The text of the SVG file.  `lines` are (seconds, text), without any seconds for a still picture."""
    faster = max(1, round(lines[-1][0] / PLAYS_S))
    moves = lines[-1][0] > 0
    rows = [drawn(0, f"$ {command}", 0)] if command else []
    rows += [drawn(number, text, moves and max(at / faster, 0.1))
             for number, (at, text) in enumerate(lines, len(rows)) if text]
    columns = max(COLUMNS, *(len(text) for _, text in lines))
    width, height = round(columns * CELL + 2 * MARGIN), MARGIN * 2 + LINE * (len(lines) + 2)
    note = f"played {faster} times as fast" if faster > 1 else ""
    told = ", ".join(re.sub(" >.*", "", text[2:]) for _, text in lines if text.startswith("$ "))
    title = ", ".join(filter(None, (f"A run of {command or told}", note)))
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}"'
        f' height="{height}" role="img" aria-label="{escape(title)}">',
        f"<title>{escape(title)}</title>",
        f"<desc>{escape(' / '.join(re.sub('  +', ' ', text).strip() for _, text in lines if text))}</desc>",
        f"<style>{STYLE}</style>",
        f'<rect width="{width}" height="{height}" rx="6" style="fill:var(--paper)"/>', *rows,
        *([f'<text class="n" x="{width - MARGIN}" y="{height - 10}" text-anchor="end">{note}</text>']
          if note else []), "</svg>", ""])


def main(command, source, to):
    """Draws it."""
    lines = lines_of(sys.stdin) if source == "-" else [
        (0, line) for line in Path(source).read_text("utf-8").splitlines()]
    Path(to).write_text(picture(command, lines), "utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
