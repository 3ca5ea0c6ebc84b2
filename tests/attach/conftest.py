# SPDX-License-Identifier: MIT
"""The programs of the kernel are for who has its capabilities: an ordinary user's run leaves these tests out.
Where there is less than root they take away what is too much themselves."""

import os

import pytest

from harness import skip


@pytest.fixture(autouse=True, scope="session")
def root_only():
    if os.geteuid() != 0:
        skip("only root may attach")
