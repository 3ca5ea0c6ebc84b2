# SPDX-License-Identifier: MIT
"""An exchange as a picture: the program, its kernel and the peer as three lines of a ladder (src/pages)."""

import sys
from pathlib import Path

from exchange import holds

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src"))

from pages.document import escape  # noqa: E402
from pages.ladder import Hold, Ladder, Party, Step, draw  # noqa: E402
from pages.style import LADDER, variables  # noqa: E402

WIDTH, PROGRAM, KERNEL, PEER = 620, 100, 315, 575
LATE_S = 0.020  # an acknowledgement that comes later than this after the data was delayed
ENDS = {"send": (0, 1), "wait": (0, 1), "option": (0, 1), "data": (1, 2), "ack": (2, 1), "answer": (2, 0)}
USED = ("ink", "paper", "line", "stall", "hold")

# The paper is painted too: the page around may be dark where the reader's system is light.
STYLE = f"""svg{{{variables(0, USED)}}}
@media (prefers-color-scheme:dark){{svg{{{variables(1, USED)}}}}}
@media print{{svg{{{variables(0, USED)}}}}}
text{{font:13px sans-serif}}{LADDER}"""


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


def delayed(steps):
    """Whether each step is a delayed acknowledgement."""
    found, sent = [], 0
    for step in steps:
        sent = step.at if step.kind == "data" else sent
        found.append(step.kind == "ack" and step.at - sent > LATE_S)
    return found


def drawn(step, since, late):
    """A step of the ladder.  An answer passes the kernel: its words stand in the column of the segments'."""
    size = f' data-bytes="{step.size}"' if step.size and step.kind != "wait" else ""
    return Step(step.kind, round(since * 1e3, 3), spoken(step, late), *ENDS[step.kind], ms(since),
                (KERNEL + PEER) / 2 if step.kind == "answer" else None, size,
                step.kind in ("send", "wait", "option"))


def picture(title, names, exchange):
    """The text of an SVG file.  `names`: the program, its kernel, the peer."""
    answer = next(at for at, step in enumerate(exchange) if step.kind == "answer")
    steps = exchange[:answer + 1]
    begins, late, held, told = steps[0].at, delayed(steps), [], []
    for step, is_late in zip(steps, late):
        told.append(f"{ms(step.at - begins)}: {spoken(step, is_late)}")
    for hold in holds(steps):
        lasts = steps[hold.last].at - steps[hold.first].at
        told.append(f"{held_words(hold)} for {ms(lasts)}")
        held.append(Hold(hold.first, hold.last, held_words(hold), ms(lasts), 1,
                         "stall" if hold.by_nagle else "hold",
                         f' data-bytes="{hold.size}" data-held-ms="{lasts * 1e3:.3f}"'))
    one = Ladder([Party(name, x) for name, x in zip(names, (PROGRAM, KERNEL, PEER))],
                 [drawn(step, step.at - begins, is_late) for step, is_late in zip(steps, late)],
                 held, WIDTH, line=25, px_per_ms=3, alone=True)
    inside = (f"<title>{escape(title)}</title>\n<desc>{escape('; '.join(told))}</desc>\n"
              f"<style>{STYLE}</style>\n"
              f'<rect width="{WIDTH}" height="100%" style="fill:var(--paper)"/>'
              f'<text class="b" x="8" y="20">{escape(title)}</text>')
    return draw(one, f' xmlns="http://www.w3.org/2000/svg" aria-label="{escape(title)}"'
                f' data-took-ms="{(steps[-1].at - begins) * 1e3:.3f}"', inside) + "\n"
