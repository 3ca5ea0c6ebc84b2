# SPDX-License-Identifier: MIT
"""One exchange of each arm as a ladder: two life lines, an arrow for each data segment, and the time in which
bytes are held.  It is drawn from the arm's own records: segments an exchange, the median, the stalls."""

import html

WIDTH, LEFT, RIGHT, TOP, LINE, TALLEST = 300, 78, 288, 44, 26, 150
SEGMENTS_MOST = 4
DELAY_MS = 30  # a delayed acknowledgement takes at least as long


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
        "by its time" if 2 * arm.slow > arm.exchanges and median - fastest_ms > DELAY_MS else None
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
                          f"by {DELAY_MS} ms and more"}[held]
    return f"{arm.name}: {segments}, the answer after {_time(median)}{why}."


def _arrow(at, text, time, right=True):
    tip, back = (RIGHT, -8) if right else (LEFT, 8)
    return (f'<path d="M{LEFT} {at:.1f}H{RIGHT}" style="stroke: var(--arm3)"/>'
            f'<path d="M{tip} {at:.1f}l{back} -4v8z" style="fill: var(--arm3)"/>'
            f'<text x="{(LEFT + RIGHT) / 2}" y="{at - 4:.1f}" text-anchor="middle">{html.escape(text)}</text>'
            f'<text x="{LEFT - 10}" y="{at + 4:.1f}" text-anchor="end">{html.escape(time)}</text>')


def _steps(happens, longest_ms):
    """(kind, height in pixels, text, time) of each arrow, and the height at which the answer comes."""
    count, median, held = happens
    at_once = 1 if held else count
    steps = [("data", TOP + n * LINE, "data", "0 ms" if n == 0 else "") for n in range(at_once)]
    end = max(TOP + median / longest_ms * TALLEST, steps[-1][1] + LINE * (count - at_once + 1))
    steps += [("data", end - LINE * (count - n), "the rest", "") for n in range(at_once, count)]
    return [*steps, ("answer", end, "answer", _time(median))], end


def ladder(arm, number, fastest_ms, longest_ms):
    """A figure with the ladder of an arm; its times have the scale of the longest arm."""
    happens = what_happens(arm, fastest_ms)
    caption = html.escape(in_words(arm, happens))
    if happens is None:
        return f"<figure><figcaption>{caption}</figcaption></figure>"
    steps, end = _steps(happens, longest_ms)
    height = end + 22
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 {WIDTH} {height:.0f}" '
             f'aria-labelledby="ladder-{number}-title"><title id="ladder-{number}-title">{caption}</title>',
             f'<text x="{LEFT}" y="14" text-anchor="middle">program</text>'
             f'<text x="{RIGHT - 12}" y="14" text-anchor="middle">peer</text>']
    parts += [f'<path d="M{x} 20V{height - 6:.1f}" style="stroke: var(--ink)"/>' for x in (LEFT, RIGHT)]
    if happens[2]:
        until = steps[-2][1] if happens[0] > 1 else end
        parts.append(f'<rect x="{LEFT - 4}" y="{TOP}" width="8" height="{until - TOP:.1f}" '
                     f'style="fill: var(--arm4)"/><text x="{LEFT + 12}" y="{(TOP + until) / 2 + 4:.1f}">held'
                     f'{"" if happens[2] == "proved" else ", probably"}</text>')
    parts += [_arrow(at, text, time, kind == "data") for kind, at, text, time in steps]
    return f'<figure>{"".join(parts)}</svg><figcaption>{caption}</figcaption></figure>'


def ladders(analysis):
    """The ladders of all arms, side by side; nothing where no arm has a record."""
    arms = list(analysis.arms.values())
    known = [arm.number("median").value for arm in arms if what_happens(arm, 0)]
    if not known:
        return ""
    figures = (ladder(arm, number, min(known), max(known)) for number, arm in enumerate(arms))
    return ('<h2>One exchange of each arm</h2>\n<p>Drawn from the medians of the arm. The times have one '
            'scale, but two arrows have at least a line between them.</p>\n<div class="side">\n' +
            "\n".join(figures) + "\n</div>")
