# SPDX-License-Identifier: MIT
"""The manual pages as scdoc gets them, with the lists from the sources filled in."""

import subprocess

from .library import SOURCE_ROOT

_SOURCE_OF = {"libunstall.7": "src/preload/sys/surface.def", "unstall.1": "src/stats_file/stats_format.h"}


def filled_manual(page):
    """`page`: "libunstall.7" or "unstall.1"."""
    return subprocess.run(
        ["/usr/bin/python3", "-B", SOURCE_ROOT / "scripts/lib/surface-list.py", "--version", "1.2.3",
         SOURCE_ROOT / _SOURCE_OF[page], SOURCE_ROOT / f"docs/{page}.scd"],
        check=True, capture_output=True, text=True).stdout
