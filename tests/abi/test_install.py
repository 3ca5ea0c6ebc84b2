# SPDX-License-Identifier: MIT
"""meson install: the files, and a bare LD_PRELOAD=libunstall.so that finds them."""

from platform import machine

import pytest

from harness import installed, only, program, run_judged


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """A DESTDIR with the build installed into it."""
    return installed(tmp_path_factory.mktemp("destdir"))


def test_the_library_is_installed_under_its_bare_name(root):
    path = only(root, "libunstall.so")
    assert "lib" in path.parent.parts[-1] or "lib" in path.parent.parts[-2]


@pytest.mark.processors(machine())
def test_the_manual_is_installed(root):
    assert only(root, "libunstall.7*").parent.name == "man7"


def test_nothing_of_the_tests_is_installed(root):
    names = [path.name for path in root.rglob("*") if path.is_file()]
    assert not [name for name in names if "hook" in name or "test" in name]


@pytest.mark.parametrize("mode", ["nodelay", "auto"])
def test_a_bare_name_works_where_the_loader_looks(root, mode):
    folder = only(root, "libunstall.so").parent
    assert not run_judged(program("put_write"), mode, 12, LD_PRELOAD="libunstall.so",
                          LD_LIBRARY_PATH=folder).stalls
