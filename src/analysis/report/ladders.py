# SPDX-License-Identifier: MIT
"""One exchange of each arm as a ladder: two life lines, an arrow for each data segment, and the time in which
bytes are held.  It is drawn from the arm's own records: segments an exchange, the median, the stalls."""

from pages.document import escape
from pages.ladder import Hold, Ladder, Party, Step, draw

from record.late import SHORTEST_MS

WIDTH, LEFT, RIGHT, TOP, LINE, TALLEST = 300, 78, 288, 44, 26, 150
SEGMENTS_MOST = 4


def _time(ms):
    """In the unit that keeps it short: its label has 68 pixels."""
    return f"{ms / 1e3:.3g} s" if ms >= 999.5 else f"{ms:.3g} ms" if ms >= 0.1 else f"{ms * 1e3:.3g} µs"


def what_happens(arm, fastest_ms):
    """(data segments, median in ms, held: None or "proved" or "by its time"); None: there is no record.

    A long time alone may be the server's own.  It tells of held bytes only if another arm is faster by a
    delayed acknowledgement."""
    median, segments = arm.number("median").value, arm.number("segments").value
    if not arm.exchanges or median is None:
        return None
    held = "proved" if 2 * (arm.stalls or 0) > arm.exchanges else \
        "by its time" if 2 * arm.slow > arm.exchanges and median - fastest_ms > SHORTEST_MS else None
    return max(1, min(SEGMENTS_MOST, round(segments or 1)) if segments else 2 if held else 1), median, held


def in_words(arm, happens):
    """The caption, which a screen reader reads for the picture."""
    if happens is None:
        return f"{arm.name}: no record of an exchange."
    count, median, held = happens
    known = arm.number("segments").value is not None
    segments = f"about {count} segment{'s' * (count > 1)}" if known else "segments not counted"
    why = {None: "", "proved": "; the rest is held, as most exchanges prove",
           "by its time": "; the rest is probably held: another arm is faster "
                          f"by {SHORTEST_MS} ms and more"}[held]
    return f"{arm.name}: {segments}, the answer after {_time(median)}{why}."


def _steps(happens, px_per_ms):
    """The arrows; those of the rest stand just above the answer."""
    count, median, held = happens
    at_once = 1 if held else count
    steps = [Step("data", 0, "data", 0, 1, "" if n else "0 ms") for n in range(at_once)]
    steps += [Step("data", max(0, median - LINE * (count - n) / px_per_ms), "the rest", 0, 1)
              for n in range(at_once, count)]
    return [*steps, Step("answer", median, "answer", 1, 0, _time(median))]


def ladder(arm, number, fastest_ms, longest_ms):
    """A figure with the ladder of an arm; its times have the scale of the longest arm."""
    happens = what_happens(arm, fastest_ms)
    caption = escape(in_words(arm, happens))
    if happens is None:
        return f"<figure><figcaption>{caption}</figcaption></figure>"
    steps = _steps(happens, TALLEST / longest_ms)
    holds = [Hold(0, max(1, len(steps) - 2), "held" if happens[2] == "proved" else "held, probably",
                  colour="arm4")] if happens[2] else []
    one = Ladder([Party("program", LEFT), Party("peer", RIGHT, RIGHT - 12)], steps, holds, WIDTH, TOP, LINE,
                 TALLEST / longest_ms)
    title = f'<title id="ladder-{number}-title">{caption}</title>'
    drawn = draw(one, f' xmlns="http://www.w3.org/2000/svg" aria-labelledby="ladder-{number}-title"', title)
    return f"<figure>{drawn}<figcaption>{caption}</figcaption></figure>"


def ladders(analysis):
    """The ladders of all arms, side by side; nothing where no arm has a record."""
    arms = list(analysis.arms.values())
    known = [arm.number("median").value for arm in arms if what_happens(arm, 0)]
    if not known:
        return ""
    figures = (ladder(arm, number, min(known), max(known)) for number, arm in enumerate(arms))
    return ('<h2>One exchange of each arm</h2>\n<p>Drawn from the medians of the arm. The times have one '
            'scale, but two arrows have at least a line between them.</p>\n<div class="side small">\n' +
            "\n".join(figures) + "\n</div>")
