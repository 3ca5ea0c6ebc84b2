# SPDX-License-Identifier: MIT
"""The commands for the long runs explain themselves and refuse unknown words."""

import subprocess

import pytest

from harness import SOURCE_ROOT

pytestmark = pytest.mark.no_library

COMMANDS = ("foreign-suites", "fuzz", "sanitize", "tidy")


def run(command, *arguments):
    """One of the commands, to its end."""
    return subprocess.run([SOURCE_ROOT / "scripts" / command, *arguments], check=False, timeout=30,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_says_how_to_use_it(command):
    done = run(command, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"Usage: scripts/{command} ")


@pytest.mark.parametrize("command", COMMANDS)
def test_an_unknown_option_is_refused(command):
    done = run(command, "--no-such-option")
    assert done.returncode == 1
    assert "--no-such-option" in done.stderr


@pytest.mark.parametrize("command, word", [("sanitize", "memory"), ("fuzz", "everything")])
def test_an_unknown_name_is_refused(command, word):
    done = run(command, word)
    assert done.returncode == 1 and word in done.stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_free_of_syntax_errors(command):
    subprocess.run(["bash", "-n", SOURCE_ROOT / "scripts" / command], check=True)
