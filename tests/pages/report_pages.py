# SPDX-License-Identifier: MIT
"""Pages of `unstall report --html`, of statistics files made from tables, and of `unstall observe --html`, of
a real program."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cli"))

from stats_files import PROGRAMS, STALLING, make_stats_file  # noqa: E402

from harness import AnsweringPeer, compile_c, unstall  # noqa: E402


def processes(folder):
    """Several processes that stall."""
    for number in range(4):
        make_stats_file(folder / f"{number}-2.unstall", STALLING)
    unstall("report", "--html", folder / "page.html", folder, check=True)
    return folder / "page.html"


def with_call_sites(folder):
    """Code without a name, of a file that no longer exists, and of none."""
    make_stats_file(folder / "1-2.unstall", STALLING +
                    f"module 1000 9000 0 aabb /opt/{'a-long-path/' * 10}<lib>.so\n"
                    "pattern 1 2000 3000 60 60 3000000000\npieces 210 99\n"
                    "pattern 1 7f0000001000 7f0000002000 36 36 1200000000\n")
    unstall("report", "--html", folder / "page.html", folder, check=True)
    text = (folder / "page.html").read_text("utf-8")
    assert "Who wrote the pieces" in text and "the file no longer exists" in text
    return folder / "page.html"


def observed(folder):
    """A program that stalls, with the functions that wrote its pieces."""
    with AnsweringPeer() as peer:
        unstall("observe", "--html", folder / "page.html", "--", compile_c(PROGRAMS / "two_authors.c"),
                *peer.target, "10", check=True)
    assert "send_header" in (folder / "page.html").read_text("utf-8")
    return folder / "page.html"
