# SPDX-License-Identifier: MIT
"""An exchange as a picture: the program, its kernel and the peer as three lines, time goes downward.

The distance of two steps is proportional to the time between them, but at least a line.  The attributes
data-kind, data-at-ms, data-bytes and data-held-ms have the numbers, for the tests.
"""

from xml.sax.saxutils import escape, quoteattr

from exchange import holds

WIDTH, PROGRAM, KERNEL, PEER = 620, 100, 315, 575
TOP, LINE, PX_PER_MS = 74, 25, 3
LATE_S = 0.020  # an acknowledgement that comes later than this after the data was delayed

# The paper is painted too: the page around may be dark where the reader's system is light.
STYLE = """svg{fill:var(--ink);--ink:#000;--paper:#fff;--line:#1f4e9e;--stall:#b00020;--hold:#2e6b34}
@media (prefers-color-scheme:dark){svg{
--ink:#ececec;--paper:#15181b;--line:#8ab4f8;--stall:#ff8a80;--hold:#8fd19e}}
@media print{svg{--ink:#000;--paper:#fff;--line:#1f4e9e;--stall:#b00020;--hold:#2e6b34}}
text{font:13px sans-serif}.b{font-weight:bold}.e{text-anchor:end}.m{text-anchor:middle}
line{stroke:var(--ink)}.a line{stroke:var(--line)}.a path{fill:var(--line)}
.c line{stroke-dasharray:4 3}"""


def spoken(step, late):
    """A step in words."""
    if step.kind == "send":
        return f"send, {step.size} bytes" + (", MSG_MORE" if step.more else "")
    if step.kind == "ack":
        return "delayed acknowledgement" if late else "acknowledgement"
    return {"wait": "recv: the program waits", "option": "TCP_NODELAY = 1",
            "data": f"{step.size} bytes", "answer": f"answer, {step.size} bytes"}[step.kind]


def held_words(hold):
    """The words for a hold: the number of bytes, and the holder."""
    return f"{hold.size} bytes held by {'Nagle’s algorithm' if hold.by_nagle else 'unstall'}"


def ms(seconds):
    """Milliseconds as the picture writes them."""
    return f"{seconds * 1e3:.2f} ms"


def heights(steps):
    """The y of each step."""
    found = [TOP]
    for before, step in zip(steps, steps[1:]):
        found.append(round(found[-1] + max(LINE, (step.at - before.at) * 1e3 * PX_PER_MS), 1))
    return found


def delayed(steps):
    """Whether each step is a delayed acknowledgement."""
    found, sent = [], 0
    for step in steps:
        sent = step.at if step.kind == "data" else sent
        found.append(step.kind == "ack" and step.at - sent > LATE_S)
    return found


def arrow(step, y, since, late):
    """A step as an arrow: a call between program and kernel, a segment between kernel and peer."""
    start, tip = {"send": (PROGRAM, KERNEL), "wait": (PROGRAM, KERNEL), "option": (PROGRAM, KERNEL),
                  "data": (KERNEL, PEER), "ack": (PEER, KERNEL), "answer": (PEER, PROGRAM)}[step.kind]
    back = -9 if tip > start else 9
    # An answer passes the kernel: its words stand in the column of the segments' words.
    middle = (KERNEL + PEER) // 2 if step.kind == "answer" else (start + tip) // 2
    call = " c" if step.kind in ("send", "wait", "option") else ""
    size = f' data-bytes="{step.size}"' if step.size and step.kind != "wait" else ""
    return (f'<g class="a{call}" data-kind="{step.kind}" data-at-ms="{since * 1e3:.3f}"{size}>'
            f'<line x1="{start}" y1="{y}" x2="{tip}" y2="{y}"/><path d="M{tip} {y}l{back} -5v10z"/>'
            f'<text class="m" x="{middle}" y="{y - 5:.1f}">{spoken(step, late)}</text>'
            f'<text class="e" x="{PROGRAM - 12}" y="{y + 4:.1f}">{ms(since)}</text></g>')


def held(hold, steps, y):
    """Held bytes as a bar on the kernel's line."""
    lasts = steps[hold.last].at - steps[hold.first].at
    top, bottom = y[hold.first], y[hold.last]
    # In the middle of the widest gap, so that no segment crosses the words.
    inside = range(hold.first, hold.last)
    edges = [top, *(y[at] for at in inside if steps[at].kind in ("ack", "data")), bottom]
    widest, middle = max((below - above, (above + below) / 2) for above, below in zip(edges, edges[1:]))
    colour = "stall" if hold.by_nagle else "hold"
    words, time = escape(held_words(hold)), ms(lasts)
    lift = 8 if widest < 3 * LINE else 0  # there the words of the next arrow are near
    text = (f'<text x="{KERNEL + 14}" y="{middle - 3 - lift:.1f}">{words}</text>'
            f'<text class="b" x="{KERNEL + 14}" y="{middle + 13 - lift:.1f}">{time}</text>')
    return (f'<g data-kind="held" data-bytes="{hold.size}" data-held-ms="{lasts * 1e3:.3f}">'
            f'<rect x="{KERNEL - 5}" y="{top}" width="10" height="{bottom - top:.1f}"'
            f' style="fill:var(--{colour})"/>{text}</g>')


def life_line(x, name, bottom):
    """A party of the exchange."""
    return (f'<line x1="{x}" y1="54" x2="{x}" y2="{bottom}"/>'
            f'<text class="m" x="{x}" y="48">{escape(name)}</text>')


def picture(title, names, exchange):
    """The text of an SVG file.  `names`: the program, its kernel, the peer."""
    answer = next(at for at, step in enumerate(exchange) if step.kind == "answer")
    steps = exchange[:answer + 1]
    y, begins = heights(steps), steps[0].at
    bottom = y[-1] + 14
    late = delayed(steps)
    told = [f"{ms(step.at - begins)}: {spoken(step, is_late)}" for step, is_late in zip(steps, late)]
    told += [f"{held_words(hold)} for {ms(steps[hold.last].at - steps[hold.first].at)}"
             for hold in holds(steps)]
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {bottom + 8:.0f}" width="{WIDTH}"'
        f' height="{bottom + 8:.0f}" role="img" aria-label={quoteattr(title)}'
        f' data-took-ms="{(steps[-1].at - begins) * 1e3:.3f}">',
        f"<title>{escape(title)}</title>", f"<desc>{escape('; '.join(told))}</desc>",
        f"<style>{STYLE}</style>",
        f'<rect width="{WIDTH}" height="{bottom + 8:.0f}" style="fill:var(--paper)"/>',
        f'<text class="b" x="8" y="20">{escape(title)}</text>',
        *(life_line(x, name, bottom) for x, name in zip((PROGRAM, KERNEL, PEER), names))]
    parts += [held(hold, steps, y) for hold in holds(steps)]
    parts += [arrow(step, at, step.at - begins, is_late) for step, at, is_late in zip(steps, y, late)]
    return "\n".join([*parts, "</svg>", ""])
