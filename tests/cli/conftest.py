# SPDX-License-Identifier: MIT
"""What many tests of the command need: a peer, a folder for statistics, a program that stalls."""

import pytest
from talkers import staller

from harness import AnsweringPeer, stats_directory


@pytest.fixture(name="peer")
def a_peer():
    with AnsweringPeer() as peer:
        yield peer


@pytest.fixture(name="folder")
def a_stats_folder():
    with stats_directory() as folder:
        yield folder


@pytest.fixture(name="process")
def one_that_stalls(folder, peer):
    with staller(folder, peer) as process:
        yield process


@pytest.fixture(name="runtime")
def runtime_folder(monkeypatch):
    """A XDG_RUNTIME_DIR of our own.  In the end nothing is left there."""
    with stats_directory() as folder:
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
        yield folder
        assert list(folder.iterdir()) == []
