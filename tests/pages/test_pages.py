# SPDX-License-Identifier: MIT
"""Each page that the project makes, in a real browser: nothing on the console, no request, no
horizontal scroll bar at 400 and 1400 pixels, readable in a light and in a dark colour scheme, and by
its accessibility tree.

Another page is another row of PAGES: its name, and a function that writes it into a folder."""

import pytest
from ab_pages import by_the_command, rendered
from browser import Page
from checks import faults
from explain_pages import long_stalls, no_stall, stalls
from report_pages import processes
from scan_pages import scanned

pytestmark = pytest.mark.no_library

PAGES = {
    "unstall ab --html": by_the_command,
    "ab, six arms": rendered("six arms"),
    "ab, live": rendered("live"),
    "ab, odd": rendered("odd"),
    "ab, wall time alone": rendered("wall time alone"),
    "ab, one round": rendered("one round"),
    "unstall explain --html": stalls,
    "explain, 200 ms": long_stalls,
    "explain, no stall": no_stall,
    "unstall report --html": processes,
    "unstall scan --html": scanned("stall"),
    "scan, no stall": scanned("single"),
}


@pytest.mark.parametrize("name", PAGES)
def test_a_page_has_no_fault(browser, tmp_path, name):
    assert faults(Page(browser, PAGES[name](tmp_path))) == []
