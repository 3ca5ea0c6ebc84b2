#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Measures real programs, bare and treated, and prints a table: median, p90, data segments an exchange.

Columns: bare, the modes, and two simple preloads; then the result of `unstall report` on the run in observe
(stalls proved, of exchanges). Behind them the programs without a stall, whose system calls may not change.
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parent))

# pylint: disable=wrong-import-position
from harness import LIB  # noqa: E402
from runner import SIMPLE, TREATMENTS, complaints, load, simple, victims, wrong_of_well  # noqa: E402
from runner import affected  # noqa: E402
from runner.document import update  # noqa: E402
from runner.table import Table  # noqa: E402
from runner.wells import load_well, wells  # noqa: E402

COLUMNS = (*TREATMENTS, *SIMPLE)
# The errors by which one cell may fail while the others go on.
FAILURES = (AssertionError, OSError, subprocess.SubprocessError)


def parse():
    names = [*victims(heavy=True), *wells(heavy=True)]
    parser = argparse.ArgumentParser(prog=os.environ.get("UNSTALL_GALLERY_NAME"), description=__doc__)
    parser.add_argument("--victim", action="append", choices=names, metavar="NAME",
                        help="one of --list; may be repeated; default: all that are not heavy")
    parser.add_argument("--mode", action="append", choices=COLUMNS, metavar="COLUMN",
                        help=f"one of {', '.join(COLUMNS)}; may be repeated; default: all")
    parser.add_argument("--all", action="store_true",
                        help="the heavy ones too (scripts/setup --gallery --all)")
    parser.add_argument("--list", action="store_true", help="name the programs and their stories")
    parser.add_argument("--update-docs", action="store_true",
                        help="write what was measured into docs/results/gallery.md; other rows stay")
    parser.add_argument("--affected", action="store_true",
                        help="measure nothing; write docs/affected.md and the table of unstall doctor")
    return parser.parse_args()


def treatment_of(column):
    return TREATMENTS[column] if column in TREATMENTS else simple(column)


def measure(victim, columns, table):
    """All columns of one victim; returns (column -> Measurement, None where it failed; the complaints)."""
    done, found = {}, []
    for column in columns:
        treatment = treatment_of(column)
        try:
            measurement = victim.run(treatment)
        except FAILURES as error:
            table.failed(column)
            done[column] = None
            found.append(f"{victim.name}, {column}: {error}")
            continue
        done[column] = measurement
        table.put(column, measurement)
        found += [f"{victim.name}, {column}: {text}" for text in complaints(victim, treatment, measurement)]
    return done, found


def verdict_of(done):
    """The report's result in mode observe, for a table; empty if that was not measured."""
    return done["observe"].observed.short() if done.get("observe") else ""


def run_victims(names, columns, write):
    """The complaints; `write` gets name -> column -> Measurement of each victim once it is measured."""
    table, found = Table(columns), []
    for name in names:
        victim = load(name)
        table.row(name)
        if victim.missing():
            table.end(f"lacks {', '.join(victim.missing())}")
            found.append(f"{name}: {', '.join(victim.missing())} not installed (scripts/setup"
                         f"{' --gallery --all' if victim.heavy else ' --gallery'})")
            continue
        if version := victim.well_version():
            table.end(f"{version} does not stall; its row stays as it was")
            continue
        done, wrong = measure(victim, columns, table)
        found += wrong
        table.end(verdict_of(done))
        write({name: done}, {})
    return found


def run_wells(names, write):
    """The complaints; `write` gets name -> mode -> the result of each program once it is measured."""
    found = []
    for name in names:
        well = load_well(name)
        if well.missing():
            found.append(f"{name}: {', '.join(well.missing())} not installed (scripts/setup "
                         f"--gallery{' --all' if well.heavy else ''})")
            continue
        verdicts = well.verdicts()
        wrong, facts = well.facts()
        told = well.observed()
        wrong += wrong_of_well(told, well.stalls, well.says)
        if well.says:
            facts = f"{facts}; {told.told()}"
        write({}, {name: {**verdicts, "verdict": told.short(), "facts": facts}})
        print(f"{name:18}  " + "  ".join(f"{mode}: {verdict}" for mode, verdict in verdicts.items()) +
              f"  verdict: {told.short()}  {facts}", flush=True)
        found += [f"{name}: {text}" for text in wrong]
        found += [f"{name}, {mode}: {verdict}" for mode, verdict in verdicts.items()
                  if not verdict.startswith("same")]
    return found


def main():
    arguments = parse()
    if arguments.list:
        for name in victims(heavy=True):
            print(f"{name}: {load(name).story}{' (heavy)' if load(name).heavy else ''}")
        for name in wells(heavy=True):
            print(f"{name}: {load_well(name).story}{' (heavy)' if load_well(name).heavy else ''}")
        return 0
    if arguments.affected:
        affected.write()
        return 0
    if not LIB.exists():
        sys.exit(f"{LIB} is missing: build first, or set UNSTALL_BUILD_ROOT")
    columns = [column for column in COLUMNS if column in (arguments.mode or COLUMNS)]
    chosen = arguments.victim or [*victims(heavy=arguments.all), *wells(heavy=arguments.all)]
    well = wells(heavy=True)

    def write(results, unchanged):
        if arguments.update_docs:
            update(COLUMNS, results, unchanged)
            affected.write()

    found = run_victims([name for name in chosen if name not in well], columns, write)
    found += run_wells([name for name in chosen if name in well], write)
    for text in found:
        print(text, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    if "libunstall" in os.environ.get("LD_PRELOAD", ""):
        sys.exit("run without LD_PRELOAD: the runner is never preloaded")
    sys.exit(main())
