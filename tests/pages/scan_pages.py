# SPDX-License-Identifier: MIT
"""Pages of `unstall scan --html`, of a program that stalls, and of one that does not."""

import subprocess
import sys
from pathlib import Path

from harness import spawned, unstall

ACTOR = Path(__file__).resolve().parents[1] / "cli/programs/actor.py"


def scanned(kind):
    def page(folder):
        with spawned([sys.executable, "-S", ACTOR, kind, "600"], stdout=subprocess.PIPE) as actor:
            port = actor.stdout.readline().split()[1]
            for seconds in (2, 6, 18):  # on a busy machine it may see no stall
                done = unstall("scan", "--time", seconds, "--port", port, "--html", folder / "page.html")
                if done.returncode == 1 or kind != "stall":
                    break
            assert done.returncode == (1 if kind == "stall" else 0), done.stderr
        return folder / "page.html"
    return page
