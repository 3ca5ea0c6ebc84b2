# SPDX-License-Identifier: MIT
"""One browser for all tests of this folder: its start takes longer than a page."""

import re
from pathlib import Path

import pytest
from browser import Browser, program
from checks import SCHEMES, WIDTHS

from harness import skip


def pytest_addoption(parser):
    parser.addoption("--screenshots", metavar="FOLDER", type=Path,
                     help="keep a PNG of each page, in each colour scheme, at each width")


@pytest.fixture(name="screenshots")
def a_keeper_of_screenshots(request):
    """Writes them into the folder of --screenshots, if that is given."""
    folder = request.config.getoption("--screenshots", default=None)

    def keep(page, name):
        for width in WIDTHS if folder else ():
            for scheme in SCHEMES:
                page.show(width, scheme)
                path = folder / f"{re.sub('[^a-z0-9]+', '-', name)}-{width}-{scheme}.png"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(page.screenshot())
    return keep


@pytest.fixture(scope="session", name="browser")
def a_browser():
    if program() is None:
        skip("no Chromium is installed (package chromium)")
    with Browser() as started:
        yield started
