#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Draws the pictures of docs/how-it-works.md from the logs that scripts/pictures has made.

    draw.py LOGS FOLDER

For each NAME below, LOGS has NAME.strace, NAME.tcpdump and NAME.port; FOLDER gets NAME.svg.
"""

import sys
from pathlib import Path

from exchange import calls, exchanges, segments, typical
from ladder import picture


def last(found):
    """The exchange that the warm-up was for."""
    return found[-1]


def with_option(found):
    """The exchange in which the library sets the option."""
    return next(one for one in found if any(step.kind == "option" for step in one))


def holding(found):
    """A typical one of the exchanges with a hold: the library holds only once it knows a habit."""
    return typical([one for one in found if any(step.more for step in one)])


TALK = ("sender: program", "sender: kernel", "receiver")
DEMO = ("client", "client’s kernel", "nginx")

# name: title, parties, which exchange of the run
PICTURES = {
    "nagle": ("Nagle’s algorithm: five writes, two segments", TALK, last),
    "ack-rides": ("A prompt answer carries the acknowledgement", TALK, last),
    "ack-alone": ("A late answer: the acknowledgement goes alone, delayed", TALK, last),
    "stall": ("The stall: header, body, and 40 ms between them", DEMO, typical),
    "nodelay": ("nodelay: TCP_NODELAY just before the second write", DEMO, with_option),
    "cork": ("cork: both writes held, then pushed before the program waits", DEMO, typical),
    "coalesce": ("coalesce: the library collects both writes and sends them as one", DEMO, typical),
    "auto": ("auto: the first write held, the last one takes it along", DEMO, holding),
}


def main(logs, folder):
    """Draws them all."""
    for name, (title, parties, choose) in PICTURES.items():
        made = calls((logs / f"{name}.strace").read_text("utf-8"))
        port = int((logs / f"{name}.port").read_text("utf-8"))
        seen = segments((logs / f"{name}.tcpdump").read_text("utf-8"), port)
        found = [one for one in exchanges(made, seen) if any(step.kind == "answer" for step in one)]
        try:
            text = picture(title, parties, choose(found))
        except (IndexError, StopIteration):
            sys.exit(f"pictures: the run for {name} does not show what the picture is to show: run it again")
        (folder / f"{name}.svg").write_text(text, "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
