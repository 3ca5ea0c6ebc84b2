# SPDX-License-Identifier: MIT
"""The command line of scripts/bench."""

import argparse
import dataclasses
import json
import os
import platform
import subprocess
import sys
import time

from . import (attached, exchanges, host_scan, instructions, overhead, path, pipelined, real, report,
               scale, statistics_cost, tails)
from .machine import BUILD, CORE, ROOT, found, program, say

SECTIONS = [row.name for row in exchanges.ROWS] + [
    "pipelined", "calls", "start", "memory", "thread", "statistics", "tails", "scan", "attach",
    "scale", "path", "real", "instructions"]
FULL_ONLY = {"scale", "path", "real", "tails", "statistics"}  # unless named by --only


def options(description):
    parser = argparse.ArgumentParser(prog="scripts/bench", description=description,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="less than two minutes: fewer rounds and "
                        "configurations, no " + ", ".join(sorted(FULL_ONLY)))
    parser.add_argument("--only", action="append", choices=SECTIONS, metavar="NAME",
                        help="this alone (may be repeated): " + ", ".join(SECTIONS))
    parser.add_argument("--rounds", type=int,
                        help="paired rounds of the table (quick: 5, of the server 3, else 25)")
    parser.add_argument("--update-docs", action="store_true",
                        help="write the tables and pictures into docs/benchmarks.md and "
                        "docs/results/benchmarks.md; what was not measured stays there")
    parser.add_argument("--record-instructions", action="store_true",
                        help="the hot paths' instruction counts of today are the record from now on")
    parser.add_argument("--no-build", action="store_true", help="the programs are built already")
    return parser.parse_args()


def build():
    env = {**os.environ, "LC_ALL": "C"}
    if not (BUILD / "build.ninja").exists():
        subprocess.run(["meson", "setup", str(BUILD), str(ROOT)], check=True, env=env,
                       stdout=subprocess.DEVNULL)
    subprocess.run(["ninja", "-C", str(BUILD), "--quiet", "bench-programs"], check=True, env=env)


def commit():
    done = subprocess.run(["git", "-C", str(ROOT), "describe", "--always", "--dirty"],
                          capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


def machine():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        model = next((line.split(":")[1].strip() for line in file if line.startswith("model name")), "?")
    with open("/proc/sys/net/ipv4/tcp_congestion_control", encoding="ascii") as file:
        congestion = file.read().strip()
    return {"kernel": platform.release(), "processor": model, "cores": os.cpu_count(), "core used": CORE,
            "libc": " ".join(platform.libc_ver()), "congestion control": congestion,
            "date": time.strftime("%Y-%m-%d"), "commit": commit(),
            "compiler": instructions.compiled_by()["compiler"]}


def earlier(file):
    """An earlier measurement stays until its section is measured again; each section has its date."""
    if file.exists():
        results = json.loads(file.read_text(encoding="utf-8"))
        if "stamps" in results:
            return results
    return {"rows": {}, "skipped": {}, "stamps": {}}


def progress(title):
    def tell(number, rounds):
        if sys.stdout.isatty():
            print(f"\r{title}: round {number} of {rounds}", end="\n" if number == rounds else "",
                  flush=True)
    return tell


def measure_section(name, o, results):
    """Measures one section into `results` and prints it at once."""
    before, results["skipped"] = results["skipped"], {}
    row = next((row for row in exchanges.ROWS if row.name == name), None)
    if row:
        amount = exchanges.QUICK if o.quick else exchanges.FULL
        if o.rounds:
            amount = dataclasses.replace(amount, rounds=o.rounds, server_rounds=o.rounds)
        results["rows"][name] = exchanges.measure(row, amount, progress(row.title))
    elif name == "calls":
        results["calls"] = overhead.calls(3 if o.quick else 11)
    elif name == "start":
        results["start"] = overhead.start(3 if o.quick else 7, 200)
        results["short-lived"] = overhead.short_lived(3 if o.quick else 11, 20)
    elif name == "pipelined":
        results["pipelined"], skipped = pipelined.measure(
            o.rounds or (2 if o.quick else 7), (10,) if o.quick else (1, 10, 100), not o.quick,
            lambda what: say(f"  … {what}"))
        results["skipped"].update(skipped)
    elif name == "tails":
        results["tails"], reason = tails.measure(o.rounds or 11)
        results["skipped"].update({"tails": reason} if reason else {})
    elif name == "statistics":
        results["statistics"] = statistics_cost.measure_all(o.rounds or 25)
    elif name == "memory":
        many, seconds = (4000, 0.5) if o.quick else (10000, 2)
        results["memory"] = {"process": overhead.process_memory(),
                             "connection": {m: overhead.connection_memory(m, many, seconds)
                                            for m in ("auto", "coalesce")}}
    elif name == "thread":
        seconds = (1, 0.3) if o.quick else (10, 1)
        results["thread"] = {f"{mode}, {n} connections": overhead.thread_under_load(mode, n, *seconds)
                             for mode in ("auto", "coalesce", "cork") for n in (10, 1000)}
    elif name == "scan":
        results["scan"], reason = host_scan.measure(1 if o.quick else 5)
        results["skipped"].update({"a scan of the host": reason} if reason else {})
    elif name == "attach":
        results["attach"], reason = attached.measure(o.rounds or (2 if o.quick else 9))
        results["skipped"].update({"attach": reason} if reason else {})
    elif name == "scale":
        results["scale"] = {name: scale.measure(*point, 3 if o.quick else 7, 20000)
                            for name, point in scale.POINTS.items()}
    elif name == "path":
        results["path"], reason = path.measure(2 if o.quick else 5, 30)
        results["skipped"].update({"a long path": reason} if reason else {})
    elif name == "real":
        results["real"], skipped = real.measure(
            o.rounds or (1 if o.quick else 4), 1 if o.quick else 2, (10,) if o.quick else (1, 10, 100),
            lambda what: say(f"  … {what}"))
        results["skipped"].update(skipped)
    elif name == "instructions":
        if found("valgrind") or not os.path.exists(program("paths")):
            results["skipped"]["instructions"] = "no valgrind"
        else:
            results["instructions"] = instructions.added()
    for section in ("memory", "start") if name == "start" else (name,):
        say(report.told(section, results))
    for what, reason in results["skipped"].items():
        say(f"skipped: {what}: {reason}")
    results["skipped"] = before | results["skipped"]


def main(description):
    o = options(description)
    if not o.no_build:
        build()
    folder = BUILD / "bench"
    folder.mkdir(exist_ok=True)
    results = earlier(folder / "results.json")
    results["machine"] = machine()
    if o.record_instructions:
        instructions.record(instructions.added())
        say(f"recorded in {instructions.RECORD}")
        if not o.only:
            return 0
    for name in o.only or [s for s in SECTIONS if not (o.quick and s in FULL_ONLY)]:
        began = time.monotonic()
        before = os.getloadavg()[0]
        measure_section(name, o, results)
        results["stamps"][name] = {
            "commit": results["machine"]["commit"], "processor": results["machine"]["processor"],
            "date": time.strftime("%Y-%m-%d %H:%M"),
            "seconds": round(time.monotonic() - began), "load before": round(before, 1),
            "kind": "quick" if o.quick else "full"}
        (folder / "results.json").write_text(json.dumps(results, indent=1), encoding="utf-8")
    say(f"raw numbers: {folder / 'results.json'}")
    if o.update_docs:
        report.update_docs(results, all(name in results["stamps"] for name in SECTIONS))
        say("docs/benchmarks.md and docs/results/benchmarks.md are written")
    return 0
