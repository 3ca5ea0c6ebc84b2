# SPDX-License-Identifier: MIT
"""One browser for all tests of this folder: its start takes longer than a page."""

import pytest
from browser import Browser, program

from harness import skip


@pytest.fixture(scope="session", name="browser")
def a_browser():
    if program() is None:
        skip("no Chromium is installed (package chromium)")
    with Browser() as started:
        yield started
