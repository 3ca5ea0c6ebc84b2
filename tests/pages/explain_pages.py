# SPDX-License-Identifier: MIT
"""Pages of `unstall explain --html`, of recordings and a log made by hand."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cli"))

from captures import Capture, Dialog  # noqa: E402
from test_explain_strace import stalling  # noqa: E402

from harness import unstall  # noqa: E402


def _page(folder, *captures):
    files = []
    for number, capture in enumerate(captures):
        files.append(folder / f"<a & b> {number} {'long-' * 40}.pcap")
        files[-1].write_bytes(capture.pcap())
    unstall("explain", "--html", folder / "page.html", *files, check=True)
    return folder / "page.html"


def _stalling(count=40, late=0.0435, **more):
    capture = Capture()
    for client in range(3):
        dialog = Dialog(capture, at=client * 0.01, ports=(40000 + client, 80), **more)
        for i in range(count):
            dialog.stall(0.1 + i * (0.3 + client), late=late + i * 1e-4)
    return capture


def stalls(folder):
    """Two files with stalls, one with addresses of IPv6."""
    return _page(folder, _stalling(), _stalling(client="2001:db8:1:2:3:4:5:6", server="2001:db8:6:5:4:3:2:1"))


def long_stalls(folder):
    """The stalls of another system: 200 ms."""
    return _page(folder, _stalling(late=0.2))


def no_stall(folder):
    """A well-behaved client."""
    dialog = Dialog()
    dialog.whole(0.1)
    return _page(folder, dialog.capture)


def of_a_log(folder):
    """A log of strace, which shows correlation only."""
    (folder / "strace.log").write_text(stalling().text(), encoding="utf-8")
    unstall("explain", "--html", folder / "page.html", folder / "strace.log", check=True)
    return folder / "page.html"


def three_writers(folder):
    """Clients of one server, with 3, 20 and 100 stalls."""
    capture = Capture()
    for client, count in (("192.0.2.10", 3), ("192.0.2.1", 20), ("192.0.2.2", 100)):
        Dialog(capture, client=client, server="192.0.2.99").stalls(count, late=0.0435)
    return _page(folder, capture)
