# SPDX-License-Identifier: MIT
"""Every name, called while a debugger has stopped another thread: every_name_stopped.c; scripts/stopped."""

import argparse
import datetime
import json
import os
import subprocess
import sys
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from harness import MODES, SOURCE_ROOT, compile_c, mode_env  # noqa: E402

PAGE = SOURCE_ROOT / "docs/results/stopped.md"
HEAD = """<!-- scripts/stopped has made this file. -->

# A thread stopped at each step, and every name called

A debugger stops a thread of a program at an instruction of the library, of libc or of the kernel's clock on
the library's behalf, and meanwhile another thread calls every exported name, with the connection's descriptor
where it takes one (tests/abi/every_name_stopped.c). `writer` connects and exchanges messages, `window` is the
library's own thread. A place is an address, and each was met once, in a connection of its own;
{seconds}
Left out are the names for which libc itself waits for each thread (setuid and its like), and the places
that a process passes once, when it begins.

No call may take a second, and all bytes must come in order. The last column is the longest call of all, with
what the machine took: a place where a call took a second was met again, and failed if that came three times.

"""


def modes_of(thread):
    return ("cork", "coalesce", "auto") if thread == "window" else MODES


def stopped(mode, thread, share, of, seconds=0, timeout=None):
    """The facts, and what was said beside them."""
    argv = [compile_c(Path(__file__).with_suffix(".c")), thread, share, of, seconds]
    try:
        done = subprocess.run([str(word) for word in argv], env=mode_env(mode), stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, check=False, timeout=timeout)
    except subprocess.TimeoutExpired as slow:
        return None, f"no end within {timeout} s: {slow.stderr}"
    lines = done.stdout.splitlines()
    facts = json.loads(lines[-1]) if lines else {}
    return facts | {"returned": done.returncode}, done.stderr


def page(sums, options):
    commit = subprocess.run(["git", "rev-parse", "--short=8", "HEAD"], cwd=SOURCE_ROOT, check=False,
                            capture_output=True, text=True).stdout.strip()
    how_long = "the thread stood there until all names were called"
    if options.seconds:
        how_long += f" and for {options.seconds} s at least"
    text = HEAD.format(seconds=how_long + ".\n")
    text += (f"Each program has its share of a mode's places; a short run leaves programs out.\n"
             f"Run on {datetime.date.today()}, commit {commit}, {os.cpu_count()} cores, load "
             f"{os.getloadavg()[2]:.0f}, {options.jobs} programs at a time.\n\n"
             "| mode | stopped | programs | places | calls | failed | the longest call |\n"
             "|---|---|---:|---:|---:|---:|---|\n")
    for (mode, thread), row in sums.items():
        text += (f"| {mode} | {thread} | {row['programs']} of {options.shares} | {row['places']} | "
                 f"{row['calls']} | {row['failed']} | "
                 f"{row['longest'][0]} ms: {row['longest'][1]} |\n")
    return text


def main():
    parser = argparse.ArgumentParser(prog="scripts/stopped")
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=40)
    parser.add_argument("--shares", type=int, default=100)
    parser.add_argument("--minutes", type=float, default=600)
    parser.add_argument("--mode", action="append")
    options = parser.parse_args()
    kinds = [(mode, thread) for thread in ("writer", "window") for mode in modes_of(thread)
             if not options.mode or mode in options.mode]
    sums = {kind: defaultdict(int, longest=(0, "")) for kind in kinds}
    compile_c(Path(__file__).with_suffix(".c"))
    failed = 0
    end = time.monotonic() + options.minutes * 60

    def in_time(*arguments):
        return stopped(*arguments) if time.monotonic() < end else None

    with ThreadPoolExecutor(options.jobs) as pool:
        running = {pool.submit(in_time, mode, thread, share, options.shares, options.seconds):
                   (mode, thread, share) for share in range(options.shares) for mode, thread in kinds}
        for future in as_completed(running):
            if not future.result():
                continue
            mode, thread, share = running[future]
            facts, said = future.result()
            row = sums[mode, thread]
            row["programs"] += 1
            for count in ("places", "calls"):
                row[count] += facts.get(count, 0)
            row["longest"] = max(row["longest"], (facts.get("longest_ms", 0), facts.get("longest", "")))
            if facts["returned"]:
                failed += 1
                row["failed"] += 1
                print(f"{mode} {thread} {share}/{options.shares}: {facts} {said}", flush=True)
    PAGE.write_text(page(sums, options), encoding="utf-8")
    print(f"{failed} failed; {PAGE}")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
