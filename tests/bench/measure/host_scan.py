# SPDX-License-Identifier: MIT
"""The cost of `unstall scan --source exact` for a program that does not stall, and for one that does.

By the kernel's own run-time statistics of BPF programs (kernel.bpf_stats_enabled): paired runs show no
difference.
"""

import json
import os
import re
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path

from .exchanges import HOST
from .machine import BUILD, environment, found, pinned, program, run, run_json, running

SWITCH = "/proc/sys/kernel/bpf_stats_enabled"
PROGRAMS = ("after_send", "before_receive")

# name -> the client's shape, its way, and its exchanges: to warm up, chunks, and in each of them
CLIENTS = {
    "one write a turn": ("one", "pieces", 100, 40, 250),
    "two writes, TCP_NODELAY": ("two", "nodelay", 100, 40, 250),
    "two writes, stalling": ("two", "pieces", 10, 5, 10),
}


@contextmanager
def statistics_on():
    """The kernel counts the time of each BPF program; that costs some 20 ns a run itself."""
    with open(SWITCH, encoding="ascii") as file:
        before = file.read()
    with open(SWITCH, "w", encoding="ascii") as file:
        file.write("1")
    try:
        yield
    finally:
        with open(SWITCH, "w", encoding="ascii") as file:
            file.write(before)


def counters(pid):
    """{program: (runs, ns)} of the BPF programs that this process has loaded."""
    found_ones = {}
    for fd in Path(f"/proc/{pid}/fdinfo").iterdir():
        fields = dict(re.findall(r"^(\w+):\s+(\S+)$", fd.read_text(encoding="ascii"), re.MULTILINE))
        if "run_cnt" in fields:
            shown = json.loads(run(["bpftool", "-j", "prog", "show", "id", fields["prog_id"]], environment()))
            found_ones[shown["name"]] = (int(fields["run_cnt"]), int(fields["run_time_ns"]))
    return found_ones


@contextmanager
def scanning():
    """A scan of the whole host; its process."""
    scan = subprocess.Popen([BUILD / "src/cli/unstall", "scan", "--source", "exact", "--watch"],
                            stdout=subprocess.DEVNULL, env=environment())
    try:
        for _ in range(100):
            if counters(scan.pid).keys() == set(PROGRAMS):
                break
            time.sleep(0.1)
        yield scan
    finally:
        scan.terminate()
        scan.wait(10)


def row_of(scan, port, client):
    """The numbers of one run of a client."""
    shape, way, warm_up, chunks, per_chunk = client
    before = counters(scan.pid)
    told = run_json([program("client"), HOST, port, shape, way, str(warm_up), str(chunks), str(per_chunk)])
    after = counters(scan.pid)
    exchanges = warm_up + chunks * per_chunk
    runs = {one: after[one][0] - before[one][0] for one in PROGRAMS}
    spent = {one: after[one][1] - before[one][1] for one in PROGRAMS}
    added = sum(spent.values()) / exchanges
    return {"exchange ns": told["ns"], "added ns": added, "ratio": 1 + added / told["ns"],
            "ns a run": {one: spent[one] / max(runs[one], 1) for one in PROGRAMS},
            "runs an exchange": {one: runs[one] / exchanges for one in PROGRAMS}}


def measure(rounds=5):
    """({client: numbers}, None), or (None, the reason why not).  Of the rounds the one that added least, with
    the fastest exchange: other traffic counts, and other work lengthens the exchange."""
    if os.geteuid() != 0 or found("bpftool"):
        return None, "it needs root and bpftool"
    rows = {}
    with statistics_on(), scanning() as scan, running([program("peer")]) as peer, pinned():
        for name, client in CLIENTS.items():
            told = [row_of(scan, peer.said, client) for _ in range(rounds)]
            rows[name] = min(told, key=lambda row: row["added ns"])
            rows[name]["exchange ns"] = min(row["exchange ns"] for row in told)
            rows[name]["ratio"] = 1 + rows[name]["added ns"] / rows[name]["exchange ns"]
    return rows, None
