# SPDX-License-Identifier: MIT
"""Each page that the project makes, in a real browser: nothing on the console, no request, no
horizontal scroll bar at 400 and 1400 pixels, readable in a light and in a dark colour scheme, and by
its accessibility tree.

Another page is another row of PAGES: its name, and a function that writes it into a folder.  To look at them
all: pytest tests/pages/test_pages.py --screenshots FOLDER."""

import pytest
from ab_pages import by_the_command, rendered
from browser import Page
from checks import faults
from explain_pages import long_stalls, no_stall, of_a_log, stalls, three_writers
from report_pages import observed, processes, with_call_sites
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
    "explain, a log of strace": of_a_log,
    "unstall report --html": processes,
    "report, call sites": with_call_sites,
    "unstall observe --html": observed,
    "unstall scan --html": scanned("stall"),
    "scan, no stall": scanned("single"),
}


@pytest.mark.parametrize("name", PAGES)
def test_a_page_has_no_fault(browser, tmp_path, screenshots, name):
    page = Page(browser, PAGES[name](tmp_path))
    screenshots(page, name)
    assert faults(page) == []


COLUMN = "[...document.querySelectorAll('tbody tr')].map(row => row.cells[%d].textContent)"
SORTS = "[...document.querySelectorAll('thead th')].map(head => head.getAttribute('aria-sort'))"
CLICK = "document.querySelectorAll('th button')[%d].click()"


@pytest.mark.parametrize("head, column, falling", [
    (0, 0, ["192.0.2.2", "192.0.2.10", "192.0.2.1"]),
    (2, 2, ["100", "20", "3"]),
    (5, 5, ["4.36 s", "871.0 ms", "130.7 ms"]),
], ids=["by text", "by number", "by time"])
def test_a_click_sorts_a_table_and_another_turns_it_round(browser, tmp_path, head, column, falling):
    """By the numbers, not by their letters; a screen reader is told the order."""
    page = Page(browser, three_writers(tmp_path))
    for order, expected in (("descending", falling), ("ascending", falling[::-1])):
        page.evaluate(CLICK % head)
        assert page.evaluate(COLUMN % column) == expected
        assert page.evaluate(SORTS) == [order if at == head else None for at in range(6)]
    page.evaluate(CLICK % 3)
    assert page.evaluate(SORTS) == ["descending" if at == 3 else None for at in range(6)]
