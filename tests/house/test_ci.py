# SPDX-License-Identifier: MIT
"""The last line of .ci/run: nothing that went wrong in one of its steps may be missing from it."""

import shutil
import subprocess

import pytest

from harness import SOURCE_ROOT, bare_env

pytestmark = pytest.mark.no_library

GOOD = {"test": "echo 5 passed, 0 failed", "arch": "echo 3 passed, 0 failed", "tidy": "true"}

# A stand-in for a step -> the named failures, the last line.
EXPECTED = {
    "all well": ({}, [], "9 passed, 0 failed"),
    "a test": ({"test": "echo failed: one; echo 4 passed, 1 failed; exit 1"}, ["failed: one"],
               "8 passed, 1 failed"),
    "a skip": ({"test": "echo 5 passed, 0 failed, 1 skipped"}, ["failed: tests"], "4 passed, 1 failed"),
    "an architecture": ({"arch": "echo failed: arm64: auto; echo 2 passed, 1 failed; exit 1"},
                        ["failed: arm64: auto"], "8 passed, 1 failed"),
    "a test and an architecture": ({"test": "echo failed: one; echo 4 passed, 1 failed; exit 1",
                                    "arch": "echo failed: two; echo 1 passed, 2 failed; exit 1"},
                                   ["failed: one", "failed: two"], "6 passed, 3 failed"),
    "a compiler that does not come": ({"arch": "echo no package >&2; exit 1"}, ["failed: architectures"],
                                      "6 passed, 1 failed"),
    "an error behind a good sum": ({"arch": "echo 3 passed, 0 failed; exit 1"}, ["failed: architectures"],
                                   "9 passed, 1 failed"),
    "clang-tidy": ({"tidy": "echo a finding; exit 1"}, ["failed: clang-tidy"], "8 passed, 1 failed"),
}


@pytest.mark.parametrize("what", EXPECTED)
def test_the_last_line(what, tmp_path):
    steps, named, last = EXPECTED[what]
    for folder in (".ci", "scripts"):
        (tmp_path / folder).mkdir()
    shutil.copy(SOURCE_ROOT / ".ci/run", tmp_path / ".ci/run")
    for name, does in {**GOOD, **steps}.items():
        script = tmp_path / "scripts" / name
        script.write_text(f"#!/bin/bash\n{does}\n", encoding="utf-8")
        script.chmod(0o755)
    done = subprocess.run([tmp_path / ".ci/run"], env=bare_env(), check=False, capture_output=True, text=True,
                          timeout=60)
    lines = done.stdout.splitlines()
    assert lines[-1] == last
    assert lines[len(lines) - 1 - len(named):-1] == named
    assert (done.returncode == 0) is (named == [])
