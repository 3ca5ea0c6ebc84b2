#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs other people's test suites, unmodified, bare and under the library, and compares.

    foreign-suites.py --library libunstall.so [--quick] [--cold] [--junit-xml=FILE] [--markdown FILE]
                      [SUITE...]
    foreign-suites.py --library libunstall.so --ltp FOLDER [...]

A SUITE is a module of Python's tests, stress-ng or poe; without one all run.  Every test must end in
every mode as it ends bare.  A test that did not is run again, bare and under that mode: where bare
it ends the same way now and then, or where it never does so again, it is flaky and named; else it is
a difference, and the exit code is 1.

Bare and in every mode the library of tests/company/warm_up.c is preloaded too: it plays the pattern
on a connection before main, so that all of unstall is awake when a test begins (--cold: without).
"""

import argparse
import concurrent.futures
import os
import platform
import signal
import sys
import tempfile
from pathlib import Path

from foreign import judge, ltp, poe, programs, regrtest, say, stress_ng
from foreign.host import MODES, Host, compile_warm_up

PYTHON_HEAD = ["suite", "bare", *MODES, "time bare"]
WORK_HEAD = ["suite", "connections", *(f"writes in {mode}" for mode in MODES[1:])]
WORK = "Connections, and writes that the library held, coalesced or pushed:\n"


def python_row(suite, runs, judged):
    """One line of the table of Python's suites."""
    return [suite.name, runs["bare"].counted(), *say.verdicts(MODES, judged), f"{runs['bare'].seconds:.0f} s"]


def work_row(suite, runs):
    """One line of the table that shows the library at work."""
    # test_subprocess and its like make no connection of their own: they show that processes live on unharmed.
    return [suite.name, f"{sum(runs[mode].connections for mode in MODES)}",
            *(str(runs[mode].worked) for mode in MODES[1:])]


def python_suites(suites, jobs, host):
    """Run Python's suites; give (tables, pairs of a suite's name and its judgements)."""
    rows, work, results = [], [], []
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for suite in suites:
            print(suite.name, flush=True)
            pending = {mode: pool.submit(suite.run, mode, host) for mode in ("bare", *MODES)}
            runs = {mode: job.result() for mode, job in pending.items()}
            judged = judge.compare(suite, runs, MODES, host, lambda line: print(line, flush=True))
            print(f"  bare: {runs['bare'].counted()}", flush=True)
            if "passed" not in runs["bare"].outcomes.values():
                sys.exit(f"nothing passes bare: {suite.name}")
            rows.append(python_row(suite, runs, judged))
            work.append(work_row(suite, runs))
            results.append((suite.name, judged))
    return f"{say.table(PYTHON_HEAD, rows)}\n{WORK}\n{say.table(WORK_HEAD, work)}", results


def program_suites(suites, host):
    """Run suites of programs; give (a table, pairs of a suite's name and its judgements)."""
    done = [programs.run_programs(suite, host) for suite in suites]
    return (say.table(programs.HEAD, [row for row, _ in done]),
            [(suite.name, judged) for suite, (_, judged) in zip(suites, done)])


def arguments():
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--library", required=True, type=Path)
    parser.add_argument("--quick", action="store_true", help="only what fits in two minutes")
    parser.add_argument("--cold", action="store_true", help="without the warm-up")
    parser.add_argument("--ltp", type=Path, metavar="FOLDER", help="a Linux Test Project, installed there")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--junit-xml", type=Path)
    parser.add_argument("--markdown", type=Path, help="a document with a block for each table")
    parser.add_argument("suites", nargs="*", metavar="SUITE")
    return parser.parse_args()


def chosen(names, quick):
    """Python's suites of these names, and which others; without names all of them, or the quick ones."""
    known = {suite.name: suite for suite in regrtest.SUITES}
    others = {"stress-ng": stress_ng, "poe": poe}
    for name in names:
        if name not in known | others:
            sys.exit(f"no suite {name}; there are: {' '.join([*known, *others])}")
    if names:
        return [known[name] for name in names if name in known], [name for name in others if name in names]
    if quick:
        return [suite for suite in known.values() if suite.quick], ["stress-ng"]
    return list(known.values()), list(others)


def skip(reason):
    """Exit as a test that is skipped, or that failed where none may be."""
    print(reason, file=sys.stderr)
    sys.exit(1 if os.environ.get("UNSTALL_TESTS_MUST_RUN") == "1" else 77)


def run_all(wanted, host, folder):
    """Run the suites asked for; yield (the block of the document, its title, tables,
    results) of each kind."""
    if wanted.ltp:
        suites = ltp.suites(wanted.ltp, programs.confinement(), wanted.jobs)
        yield "ltp", ltp.version(wanted.ltp), *program_suites(suites, host)
        return
    python, others = chosen(wanted.suites, wanted.quick)
    for reason in (python and regrtest.missing(), "stress-ng" in others and stress_ng.missing(),
                   "poe" in others and poe.missing()):
        if reason:
            skip(reason)
    if python:
        yield "python", f"Python {platform.python_version()}", *python_suites(python, wanted.jobs, host)
    if "stress-ng" in others:
        suites = stress_ng.suites(programs.confinement(), wanted.quick)
        yield "stress-ng", stress_ng.version(), *program_suites(suites, host)
    if "poe" in others:
        suites = [poe.Poe(folder, programs.confinement())]
        yield "poe", poe.version(), *program_suites(suites, host)


def main():
    """Run, compare, say."""
    # Where a shell has started us in the background SIGINT is ignored, and tests that raise it fail bare.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    wanted = arguments()
    results = []
    with tempfile.TemporaryDirectory(prefix="us-") as folder:
        os.chmod(folder, 0o755)  # tests become other users
        host = Host(wanted.library.resolve(), None if wanted.cold else compile_warm_up(folder))
        if host.complaint():
            sys.exit(host.complaint())
        for block, what, lines, some in run_all(wanted, host, folder):
            print(f"\n{lines}", flush=True)
            if wanted.markdown:
                judged = [one for _, several in some for one in several]
                say.fill(wanted.markdown, block, say.block(what, lines, judged))
            results += some
    if wanted.junit_xml:
        say.write_junit(wanted.junit_xml, results, MODES)
    return any(one.verdict == "different" for _, several in results for one in several)


if __name__ == "__main__":
    sys.exit(main())
