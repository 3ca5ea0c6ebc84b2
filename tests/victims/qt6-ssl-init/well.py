# SPDX-License-Identifier: MIT
"""QTBUG-119614: Qt 6's first HTTPS request is slow because TLS starts slowly, not because of TCP."""

import json

from harness import COMMAND, run, unstall
from runner import BARE, Nginx, TREATMENTS, Well
from runner.qnam import post, program, servers

POSTS, RUNS = 5, 12
# The time that the library's start may add to a program's first request, beside the noise of a machine with
# two cores.
SLACK_MS = 5


def drive(prefix, env, scratch):
    with Nginx(servers(scratch, tls=True), scratch) as nginx:
        run([*prefix, "--", program(6), f"https://127.0.0.1:{nginx.port}/soap", POSTS], env, cwd=scratch)


def connection(traces):
    """The calls on TCP connections of all threads, reads left out: how much one brings is chance."""
    kept = ("setsockopt(", "write(", "send", "writev(", "connect(", "shutdown(")
    return [[line for line in trace if line.startswith(kept) and "<TCP>" in line] for trace in traces
            if any("<TCP>" in line for line in trace)]


def first_request(scratch, mode="auto"):
    """The best times to the first answer, bare and treated in turns; and the treated runs' reports."""
    times = {"bare": [], mode: []}
    binary, reports = program(6), []
    with Nginx(servers(scratch, tls=True), scratch) as nginx:
        for number in range(RUNS):
            for treatment in (BARE, TREATMENTS[mode]):
                report = scratch / f"report-{number}.json"
                got = post(binary, f"https://127.0.0.1:{nginx.port}/soap", treatment, POSTS,
                           **treatment.report_to(report))
                times[treatment.name].append(got[0])
                if treatment.reports:
                    reports.append(json.loads(report.read_text("utf-8")))
    # a neighbour on the machine slows, and nothing speeds up
    return {name: min(found) for name, found in times.items()}, reports


def explained(scratch):
    """`unstall explain` finds a slow start in the program's own calls, and no stall.  Returns complaints."""
    log = scratch / "strace.log"
    with Nginx(servers(scratch, tls=True), scratch) as nginx:
        run(["strace", "-f", "-tt", "-T", "-yy", "-o", log, program(6),
             f"https://127.0.0.1:{nginx.port}/soap", POSTS],
            BARE.env(QT_LOGGING_RULES="*=false"))
    (found,) = json.loads(unstall("explain", "--json", log, check=True).stdout)
    if found["connections"] < 1:
        return ["explain has not seen the connection"]
    return [found["sentence"]] if found["stalls"] else []


def also(scratch):
    """Further claims: not slower, no stall claimed, no push, no hold.  Returns complaints and facts."""
    best, reports = first_request(scratch)
    wrong = []
    if best["auto"] > best["bare"] + SLACK_MS:
        wrong.append(f"the first answer after {best['auto']:.1f} ms, bare {best['bare']:.1f} ms")
    wrong += [f"{report[key]} {key}" for report in reports
              for key in ("held_writes", "buffered_writes", "late_pushes")
              if report[key]]
    wrong += [f"{sum(report['pushes'].values())} pushes" for report in reports
              if any(report["pushes"].values())]
    if COMMAND.exists():
        wrong += explained(scratch)
    return wrong, f"first answer {best['bare']:.1f} ms bare, {best['auto']:.1f} ms in auto"


WELL = Well(
    needs=("g++", "pkg-config", "nginx", "openssl"),
    packages=("qt6-base-dev",),
    drive=drive,
    says="in the application before its first write",
    judged=connection,
    also=also,
    heavy=True,
)
