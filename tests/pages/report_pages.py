# SPDX-License-Identifier: MIT
"""Pages of `unstall report --html`, of statistics files made from tables."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cli"))

from stats_files import STALLING, make_stats_file  # noqa: E402

from harness import unstall  # noqa: E402


def processes(folder):
    """Several processes that stall."""
    for number in range(4):
        make_stats_file(folder / f"{number}-2.unstall", STALLING)
    unstall("report", "--html", folder / "page.html", folder, check=True)
    return folder / "page.html"
