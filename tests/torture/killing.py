# SPDX-License-Identifier: MIT
"""Ends writers at random moments by torture-kill and reads its findings."""

import json
import subprocess
import tempfile

from harness import LIB
from program import BINARIES

# (mode, end) -> the rule for the arrived bytes; see kill.c for the rules and docs/design.md, promise 4
RULES = {
    "bare": {"kill": "returned", "exit": "returned", "exec": "returned", "pending": "sent"},
    "off": {"kill": "returned", "exit": "returned", "exec": "returned", "pending": "sent"},
    "observe": {"kill": "returned", "exit": "returned", "exec": "returned", "pending": "sent"},
    "nodelay": {"kill": "returned", "exit": "returned", "exec": "returned", "pending": "returned"},
    "cork": {"kill": "returned", "exit": "returned", "exec": "returned", "pending": "turn"},
    "auto": {"kill": "returned", "exit": "returned", "exec": "returned", "pending": "turn"},
    "coalesce": {"kill": "turn", "exit": "returned", "exec": "returned", "pending": "turn"},
}
LIMIT = 3  # seconds for a round


def end_writers(mode, how, rounds, seed, *, rule=None):
    """The output of torture-kill, as a dict."""
    env = {}
    if mode != "bare":
        env = {"TORTURE_ENV_LD_PRELOAD": str(LIB), "TORTURE_ENV_UNSTALL_MODE": mode}
    with tempfile.TemporaryDirectory(prefix="unstall-kill-") as folder:
        done = subprocess.run([str(BINARIES / "torture-kill"), str(BINARIES / "torture-writer"),
                               rule or RULES[mode][how], how, str(rounds), str(seed)],
                              env=env, cwd=folder, capture_output=True, text=True, check=False,
                              timeout=LIMIT * rounds)
    assert done.returncode in (0, 1) and done.stdout, done.stderr
    return json.loads(done.stdout)
