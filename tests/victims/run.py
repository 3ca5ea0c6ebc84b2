#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Measures the victims and prints a table: median, p90, data segments an exchange."""

import argparse
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parent))

# pylint: disable=wrong-import-position
from runner import TREATMENTS, complaints, load, victims  # noqa: E402
from runner.table import Table  # noqa: E402


def parse():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--victim", action="append", choices=victims(), metavar="NAME",
                        help=f"one of {', '.join(victims())}; may be repeated; default: all")
    parser.add_argument("--mode", action="append", choices=list(TREATMENTS), metavar="MODE",
                        help=f"one of {', '.join(TREATMENTS)}; may be repeated; default: all")
    parser.add_argument("--list", action="store_true", help="name the victims and their stories")
    return parser.parse_args()


def measure(victim, names, table):
    """All treatments of one victim; returns what is wrong with them."""
    found = []
    for name in names:
        try:
            measurement = victim.run(TREATMENTS[name])
        except AssertionError as error:
            table.failed(name)
            found.append(f"{victim.name}, {name}: {error}")
            continue
        table.put(name, measurement)
        found += [f"{victim.name}, {name}: {text}"
                  for text in complaints(victim, TREATMENTS[name], measurement)]
    return found


def main():
    arguments = parse()
    if arguments.list:
        for name in victims():
            print(f"{name}: {load(name).story}")
        return 0
    names = [name for name in TREATMENTS if name in (arguments.mode or TREATMENTS)]
    lacking = {str(TREATMENTS[name].preload) for name in names if TREATMENTS[name].preload
               and not TREATMENTS[name].preload.exists()}
    if lacking:
        sys.exit(f"{', '.join(lacking)} is missing: build first, or set UNSTALL_BUILD_ROOT")
    table, found = Table(names), []
    for name in arguments.victim or victims():
        victim = load(name)
        table.row(name)
        if victim.missing():
            table.end(f"lacks {', '.join(victim.missing())}")
            found.append(f"{name}: {', '.join(victim.missing())} not installed (see packages.txt)")
            continue
        found += measure(victim, names, table)
        table.end()
    for text in found:
        print(text, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    if "libunstall" in os.environ.get("LD_PRELOAD", ""):
        sys.exit("run without LD_PRELOAD: the runner is never preloaded")
    sys.exit(main())
