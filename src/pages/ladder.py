# SPDX-License-Identifier: MIT
"""Exchanges as ladders: a life line for each party, an arrow for each step, time goes downward, and a bar
where bytes are held back.  All ladders of pages and pictures are drawn here.

The distance of two steps is proportional to the time between them, but at least a line.  The attributes
data-kind, data-at-ms, data-bytes and data-held-ms have the numbers, for the tests.
"""

from dataclasses import dataclass

from pages.document import escape

DRAWN_PX, PX_PER_MS = 220, 4  # of the ladder of a report


@dataclass
class Party:
    """A life line."""
    name: str
    x: int
    name_x: int = None     # None: above its line
    name_y: int = None
    anchor: str = "m"      # "", "m" or "e", as in the style


@dataclass
class Step:
    """An arrow from one life line to another, or a moment without one (`start` is None)."""
    kind: str
    at_ms: float
    label: str = ""
    start: int = None
    tip: int = None
    time: str = ""         # beside the first line
    middle: float = None   # of the label, if not of the arrow
    more: str = ""         # attributes, and
    dashed: bool = False


@dataclass
class Hold:
    """Bytes that wait from one step to another, on a life line."""
    first: int
    last: int
    label: str
    time: str = ""
    party: int = 0
    colour: str = "stall"
    more: str = ""


@dataclass
class Ladder:
    """What is drawn, and its measures in pixels."""
    parties: list
    steps: list
    holds: list
    width: int = 440
    top: int = 74
    line: int = 30
    px_per_ms: float = PX_PER_MS
    alone: bool = False    # a file of its own, which needs its size in pixels

    def heights(self):
        """The y of each step.  A moment needs no line of its own."""
        found, before = [], None
        for step in self.steps:
            far = (step.at_ms - before.at_ms) * self.px_per_ms if before else 0
            apart = self.line if before and step.start is not None else 0
            found.append(found[-1] + max(apart, far) if found else self.top)
            before = step
        return found


def _text(x, y, text, kind=""):
    name = f' class="{kind}"' if kind else ""
    return f'<text{name} x="{x:g}" y="{y:.1f}">{escape(text)}</text>' if text else ""


def _arrow(one, step, y):
    start, tip = one.parties[step.start].x, one.parties[step.tip].x
    back = -9 if tip > start else 9
    middle = (start + tip) / 2 if step.middle is None else step.middle
    return (f'<g class="a{" c" if step.dashed else ""}" data-kind="{step.kind}"'
            f' data-at-ms="{step.at_ms:.6g}"{step.more}>'
            f'<line x1="{start}" y1="{y:.2f}" x2="{tip}" y2="{y:.2f}"/>'
            f'<path d="M{tip} {y:.2f}l{back} -5v10z"/>' + _text(middle, y - 5, step.label, "m") +
            _text(one.parties[0].x - 12, y + 4, step.time, "e") + "</g>")


def _hold(one, hold, y):
    """The words stand in the middle of the widest gap, so that no segment crosses them."""
    x, top, bottom = one.parties[hold.party].x, y[hold.first], y[hold.last]
    crossing = (at for at in range(hold.first + 1, hold.last)
                if one.steps[at].start is not None and not one.steps[at].dashed)
    edges = [top, *(y[at] for at in crossing), bottom]
    widest, middle = max((below - above, (above + below) / 2) for above, below in zip(edges, edges[1:]))
    lift = 8 if widest < 2.4 * one.line else 0  # there the words of the next arrow are near
    return (f'<g data-kind="held"{hold.more}><rect x="{x - 5}" y="{top:.2f}" width="10"'
            f' height="{bottom - top:.2f}" style="fill:var(--{hold.colour})"/>' +
            _text(x + 14, middle - (3 if hold.time else -4) - lift, hold.label) +
            _text(x + 14, middle + 13 - lift, hold.time, "b") + "</g>")


def draw(one, begin, inside=""):
    """The element <svg>: `begin` has its attributes beside the measures."""
    y = one.heights()
    bottom = y[-1] + 20
    size = f' width="{one.width}" height="{bottom + 8:.0f}"' if one.alone else ""
    parts = [f'<svg{begin} role="img" viewBox="0 0 {one.width} {bottom + 8:.0f}"{size}>{inside}']
    for party in one.parties:
        name_y = one.top - 26 if party.name_y is None else party.name_y
        parts.append(f'<line x1="{party.x}" y1="{name_y + 6}" x2="{party.x}" y2="{bottom:.1f}"/>' + _text(
            party.x if party.name_x is None else party.name_x, name_y, party.name, party.anchor))
    for n, step in enumerate(one.steps):
        parts += [_hold(one, hold, y) for hold in one.holds if hold.first == n]
        if step.start is not None:
            parts.append(_arrow(one, step, y[n]))
    return "\n".join([*parts, "</svg>"])


# ---- of a report -----------------------------------------------------------------------------------------

def figure(told):
    """A figure of a ladder as the JSON has it.  The names stand in two lines: two addresses of IPv6 are wider
    than the picture."""
    width, left, right = 440, 90, 410
    steps, holds, spoken = [], [], []
    for step in told["steps"]:
        away = step["kind"] == "data"
        ends = (None, None) if step["kind"] == "held" else (0, 1) if away else (1, 0)
        if step["kind"] == "held":
            holds.append(Hold(len(steps), len(told["steps"]) - 1, step["label"], f"{step['held_ms']:.1f} ms",
                              more=f' data-at-ms="{step["at_ms"]:g}" data-held-ms="{step["held_ms"]:.10g}"'))
            way = f" for {step['held_ms']:.1f} ms"
        else:
            way = " to the peer" if away else " from the peer"
        steps.append(Step(step["kind"], step["at_ms"], step["label"], *ends, time=f"{step['at_ms']:.3f} ms"))
        spoken.append(f"{step['at_ms']:.3f} ms: {step['label']}{way}")
    for hold in holds:  # it ends with the next segment that carries data
        hold.last = next((at for at in range(hold.first + 1, len(steps))
                          if steps[at].kind not in ("held", "ack")), hold.last)
    lasts = steps[-1].at_ms if steps else 0
    scale = min(PX_PER_MS, DRAWN_PX / lasts) if lasts else PX_PER_MS
    one = Ladder([Party(told["writer"], left, 2, 15, ""), Party(told["peer"], right, width - 2, 32, "e")],
                 steps, holds, width, px_per_ms=scale)
    return (f"<figure>\n<figcaption>{escape(told['caption'])}</figcaption>\n" +
            draw(one, f' data-px-per-ms="{scale:.6f}" aria-label="{escape("; ".join(spoken))}"') +
            "\n</figure>")


def beside(ladders):
    """Ladders beside each other."""
    return "\n".join(['<div class="side ladders">', *map(figure, ladders), "</div>"])
