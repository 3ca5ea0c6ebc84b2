# SPDX-License-Identifier: MIT
"""The cost of the BPF programs of `unstall attach` and of a live experiment for a program
that does not stall.

By the kernel's own run-time statistics (kernel.bpf_stats_enabled), like host_scan.  Client and peer are in a
cgroup of their own, one of them, or none.
"""

import contextlib
import json
import os
import statistics
import subprocess
import time
from pathlib import Path

from .exchanges import HOST
from .host_scan import statistics_on
from .machine import BUILD, environment, found, pinned, program, run, run_json, running

UNSTALL = str(BUILD / "src/cli/unstall")
PINS = Path("/sys/fs/bpf/unstall")
LONG = (200, 20, 500)  # exchanges to warm up, chunks, and in each of them

ARMS = "--arms off:1,off:1 --seed 1"

# name -> the attachment, the processes in the cgroup, the client's shape and way, the target
ROWS = {
    "always": ("--mode always", "client", "one", "pieces", 1.01),
    "proof": ("--mode proof", "client", "one", "pieces", 1.01),
    "proof, TCP_NODELAY by the program": ("--mode proof", "client", "two", "nodelay", 1.01),
    "proof, the peer too": ("--mode proof", "both", "one", "pieces", 1.01),
    "outside the cgroup": ("--mode proof", "nobody", "one", "pieces", 1.0),
    "experiment": (ARMS, "client", "one", "pieces", None),
    "experiment, the peer too": (ARMS, "both", "one", "pieces", None),
    "experiment, outside the cgroup": (ARMS, "nobody", "one", "pieces", None),
}


@contextlib.contextmanager
def cgroup():
    """A cgroup, in which nothing is yet."""
    mount = next(line.split()[4] for line in Path("/proc/self/mountinfo").read_text("utf-8").splitlines()
                 if " - cgroup2 " in line)
    folder = Path(mount) / f"unstall-bench-{os.getpid()}"
    folder.mkdir()
    try:
        yield folder
    finally:
        for _ in range(100):  # its last process may be there still
            try:
                folder.rmdir()
                break
            except OSError:
                time.sleep(0.1)


@contextlib.contextmanager
def within(folder):
    """Processes started meanwhile are in the cgroup.  None: they stay in the caller's."""
    own = next(line[3:] for line in Path("/proc/self/cgroup").read_text("utf-8").splitlines()
               if line.startswith("0::"))
    if folder:
        (folder / "cgroup.procs").write_text(str(os.getpid()), encoding="ascii")
    try:
        yield
    finally:
        if folder:
            before = folder.parent / own.lstrip("/") / "cgroup.procs"
            before.write_text(str(os.getpid()), encoding="ascii")


@contextlib.contextmanager
def attached(words, folder):
    """An attachment to this cgroup; the folder of its pins."""
    target = [UNSTALL, "attach", "--cgroup", str(folder), *words.split()]
    name = PINS / f"cgroup-{folder.stat().st_ino}"
    if "--arms" not in words:
        run([*target, "--detach"])
    carrier = subprocess.Popen(target, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               env=environment()) if "--arms" in words else None
    try:
        for _ in range(100):
            if (name / "events").exists():
                break
            time.sleep(0.1)
        yield name
    finally:
        run([UNSTALL, "detach", "--cgroup", str(folder)])
        if carrier:
            carrier.wait(30)


def spent(pins):
    """(runs, ns) of all programs of an attachment that are in force."""
    runs = ns = 0
    for pin in pins.iterdir():
        if pin.name in ("config", "sockets", "connections", "arms", "restore"):
            continue
        link = json.loads(run(["bpftool", "-j", "link", "show", "pinned", str(pin)], environment()))
        shown = json.loads(run(["bpftool", "-j", "prog", "show", "id", str(link["prog_id"])], environment()))
        runs += shown.get("run_cnt", 0)
        ns += shown.get("run_time_ns", 0)
    return runs, ns


def per_exchange(pins, port, shape, way):
    """(ns of an exchange, runs, added ns) of a connection."""
    before = spent(pins)
    took = run_json([program("client"), HOST, port, shape, way, *map(str, LONG)])["ns"]
    after = spent(pins)
    count = LONG[0] + LONG[1] * LONG[2]
    return took, (after[0] - before[0]) / count, (after[1] - before[1]) / count


def row_of(name, folder, rounds):
    """Rounds of per_exchange(), each on connections of its own."""
    words, who, shape, way, _ = ROWS[name]
    with attached(words, folder) as pins, contextlib.ExitStack() as stack:
        with within(folder if who == "both" else None):
            peer = stack.enter_context(running([program("peer")]))
        stack.enter_context(within(folder if who != "nobody" else None))
        stack.enter_context(pinned())
        return [per_exchange(pins, peer.said, shape, way) for _ in range(rounds)]


def measure(rounds=5):
    """({row: numbers}, None), or (None, the reason why not).

    The medians of the rounds.  Of an experiment the least: its tracepoints count other traffic too.  Of the
    exchange the fastest of all rounds and rows, which other work has lengthened least."""
    if os.geteuid() != 0 or found("bpftool"):
        return None, "it needs root and bpftool"
    if not os.path.ismount(PINS.parent):
        return None, f"it needs a BPF file system: mount -t bpf bpf {PINS.parent}"
    asked = subprocess.run([UNSTALL, "attach", "2147483647"], capture_output=True, text=True, check=False)
    if "no such process" not in asked.stderr:
        return None, asked.stderr.strip()
    with statistics_on(), cgroup() as folder:
        told = {name: row_of(name, folder, rounds) for name in ROWS}
    fastest = {shape: min(took for name in ROWS if ROWS[name][2] == shape for took, _, _ in told[name])
               for shape in ("one", "two")}
    rows = {}
    for name, (_, _, shape, _, target) in ROWS.items():
        pick = min if target is None else statistics.median
        runs, added = (pick(row[i] for row in told[name]) for i in (1, 2))
        rows[name] = {"exchange ns": fastest[shape], "runs": runs, "added ns": added, "target": target,
                      "ratio": 1 + added / fastest[shape]}
    return rows, None
