#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Fills the places of a manual page that come from the sources.

    surface-list.py --version X.Y.Z surface.def page.scd > filled.scd
    surface-list.py --version X.Y.Z stats_format.h page.scd > filled.scd

@SURFACE@ on a line of its own becomes one paragraph for each role in surface.def, with the names
that have it; @COUNTERS@ the counters in stats_format.h; @VERSION@ becomes the version.  A role that has no
heading here is an error: a new role needs a heading for the manual's reader.
"""

import argparse
import re
import sys
from pathlib import Path

ROW = re.compile(r"^ROW\((\w+),\s*(\w+),\s*(\w+),\s*(\w+)\)", re.MULTILINE)

COUNTER = re.compile(r'^ *NAME\(([A-Z]\w*),\s*(\w+),[\s\\]*"([^"]*)"\)', re.MULTILINE)

# role -> its heading in the manual, in this order
ROLES = {
    "write": "Adds bytes to a message",
    "read": "Ends a message when bytes arrive; ends a turn where it may block",
    "wait": "Ends a turn where it may block",
    "create": "A descriptor is created, duplicated or prepared",
    "close": "Descriptors are closed",
    "option": "Options: what the program set, and what it reads back",
    "stdio": "A stream takes a descriptor, or gives it back",
    "process": "The process image or its threads change",
    "signal": "A signal may stop or end the process: what _coalesce_ has buffered leaves first",
}


def rows(definition):
    """(name, need, family, role) of every ROW, in the order of the file."""
    found = ROW.findall(definition)
    if len(found) != len(re.findall(r"^ROW\(", definition, re.MULTILINE)):
        raise SystemExit("surface-list.py: a ROW(...) has not the form ROW(name, need, family, role)")
    return found


def escaped(name):
    """A C name as scdoc wants it: an underscore at a word's edge would begin an emphasis."""
    return name.replace("_", "\\_")


def section(table):
    """The scdoc text that stands in for @SURFACE@."""
    unknown = sorted({role for _, _, _, role in table} - ROLES.keys())
    if unknown:
        raise SystemExit(f"surface-list.py: no heading for role {', '.join(unknown)}")
    parts = []
    for role, meaning in ROLES.items():
        names = [f"*{escaped(name)}*" for name, _, _, its in table if its == role]
        if names:
            parts.append(f"{meaning}:\n\t{', '.join(names)}\n")
    return "\n".join(parts)


def counters(header):
    """The scdoc text that stands in for @COUNTERS@."""
    found = COUNTER.findall(header)
    if len(found) != len(re.findall(r"^ *NAME\([A-Z]", header, re.MULTILINE)):
        raise SystemExit("surface-list.py: a NAME(...) has not the form NAME(CONSTANT, name, \"what\")")
    return "\n".join(f"*{escaped(name)}*\n\t{escaped(what[0].upper() + what[1:])}.\n"
                     for _, name, what in found)


def main():
    """Reads the files named on the command line, prints the filled page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--version", required=True)
    parser.add_argument("definition", type=Path)
    parser.add_argument("page", type=Path)
    wanted = parser.parse_args()
    definition = wanted.definition.read_text(encoding="utf-8")
    place, text = "@SURFACE@\n", section(rows(definition))
    if not text:
        place, text = "@COUNTERS@\n", counters(definition)
    if not text:
        raise SystemExit(f"surface-list.py: {wanted.definition} has neither ROW(...) nor NAME(...)")
    page = wanted.page.read_text(encoding="utf-8")
    sys.stdout.write(page.replace("@VERSION@", wanted.version).replace(place, text))


if __name__ == "__main__":
    main()
