# SPDX-License-Identifier: MIT
"""The programs of the kernel are for who has its capabilities: an ordinary user's run leaves these tests out.
Where there is less than root they take away what is too much themselves."""


import pytest
from unreached import alone, nothing_pinned

from harness import need_root


@pytest.fixture(autouse=True, scope="session")
def root_only():
    need_root("may attach")


@pytest.fixture(autouse=True)
def nothing_stays():
    """Before each test it may be used, and after it nothing of it is pinned."""
    with alone():
        yield from nothing_pinned()
