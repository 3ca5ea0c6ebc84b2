# SPDX-License-Identifier: MIT
"""Pages of `unstall scan --html`, of a program that stalls, and of one that does not."""

import subprocess
import sys
from pathlib import Path

from harness import unstall

ACTOR = Path(__file__).resolve().parents[1] / "cli/programs/actor.py"


def scanned(kind):
    def page(folder):
        actor = subprocess.Popen([sys.executable, "-S", ACTOR, kind, "20"], stdout=subprocess.PIPE, text=True)
        try:
            port = actor.stdout.readline().split()[1]
            done = unstall("scan", "--time", "1.5", "--port", port, "--html", folder / "page.html")
            assert done.returncode == (1 if kind == "stall" else 0), done.stderr
        finally:
            actor.kill()
            actor.communicate()
        return folder / "page.html"
    return page
