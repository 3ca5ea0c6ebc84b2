# SPDX-License-Identifier: MIT
"""Runs a sick client that makes a connection a run: times of whole runs, beside bare ones in turns."""

import json

from .measurement import Measurement
from .treatments import BARE


def whole_runs(treatment, scratch, program, run, runs=12, **settings):
    """`run(environment)` again and again: the times in milliseconds, without segments; and the treated
    environment.

    A run is over too soon to be looked at: `program`'s own reports say that the library was there.
    """
    env = treatment.env(**settings, **treatment.report_to(scratch / "report-%p.json"))
    times, bare = [], []
    for _ in range(runs):
        if treatment is not BARE:
            bare.append(run(BARE.env(**settings)))
        times.append(run(env))
    # One line a program: a process that calls exec reports before it.
    reports = [json.loads(line) for path in scratch.glob("report-*.json")
               for line in path.read_text("utf-8").splitlines()]
    own = [report for report in reports if report["program"] == program and report["mode"] == treatment.name]
    assert len(own) >= runs or not treatment.reports, f"{len(own)} reports of {program} in {runs} runs"
    return Measurement(tuple(times[1:]), bare_ms=tuple(bare[1:])), env
