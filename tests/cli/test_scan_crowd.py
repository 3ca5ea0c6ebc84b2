# SPDX-License-Identifier: MIT
"""unstall scan on a host with many processes and connections, of which three stall.

UNSTALL_TESTS_CROWD=300,10000,10 makes it 300 processes with 10 000 connections, scanned for 10 s.
"""

import os
import subprocess
import time
from pathlib import Path

from test_scan import need, scanning

from harness import bare_env, least, patiently

PROGRAM = Path(__file__).parent / "programs/crowd.py"
PROCESSES, CONNECTIONS, SECONDS = map(int, os.environ.get("UNSTALL_TESTS_CROWD", "50,1500,5").split(","))
STALLING = 3


def crowd_of(report, parent):
    """The senders among the processes of the crowd, the heaviest first."""
    senders = [row["process"] for row in report["rows"] if row["process"]]
    return [sender["pid"] for sender in senders
            if "crowd.py" in (sender["command"] or "") and sender["pid"] != parent]


def share_of_a_core():
    """Of a scan of the usual 10 s, which its start and its search of /proc weigh less upon."""
    with scanning("--source", "sampled") as sampled:
        time.sleep(max(SECONDS, 10))
        return sampled()["share_of_a_core"]


def test_the_three_that_stall_are_found_and_no_others():
    need("exact")
    words = [str(word) for word in ("/usr/bin/python3", "-S", PROGRAM, PROCESSES, CONNECTIONS, STALLING)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                          env=bare_env()) as crowd:
        stalling = [int(word) for word in crowd.stdout.readline().split()[1:]]
        assert len(stalling) == STALLING

        def attempt():
            with scanning("--source", "exact") as exact, scanning("--source", "sampled") as sampled:
                time.sleep(SECONDS)
                reports = {"exact": exact(), "sampled": sampled()}
            for source, report in reports.items():
                assert sorted(crowd_of(report, crowd.pid)) == sorted(stalling), source
            return reports["sampled"]

        sampled = patiently(attempt, 3)  # on a busy machine samples may miss a stall, or guess
        share = sampled["share_of_a_core"]
        if share >= 0.02:  # on a busy machine the same work takes more of a processor's time
            share = least(share_of_a_core, 0.02)
        crowd.stdin.close()
        assert crowd.wait(30) == 0
    assert sampled["sockets"] >= 2 * CONNECTIONS * 0.95
    assert share < 0.02
