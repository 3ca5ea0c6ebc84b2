# SPDX-License-Identifier: MIT
"""Runs the directed cases of tests/torture."""

import subprocess

from .library import BUILD_ROOT, mode_env

DIRECTED = str(BUILD_ROOT / "tests/torture/torture-directed")
LIMIT = 90  # seconds for a case
TRIES = 5
LATE = "LATE: "  # CHECK_TIME() of directed.h


def directed_cases():
    """The names, as the program lists them; none before it is built."""
    try:
        return subprocess.run([DIRECTED], capture_output=True, text=True, check=True).stdout.splitlines()
    except FileNotFoundError:
        return ["built"]


def run_directed(mode, name, before=(), **variables):
    """None, or the error.  `before` stands before the program.

    A case that was only late is tried again: a busy machine is late once, a forgotten byte every time.
    """
    for _ in range(TRIES):
        wrong = _run_once([*before, DIRECTED, name], mode_env(mode, UNSTALL_WINDOW_US=100000, **variables))
        if wrong is None or LATE not in wrong:
            break
    return wrong


def _run_once(argv, env):
    try:
        done = subprocess.run([str(word) for word in argv], env=env, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, check=False, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        return f"no end within {LIMIT} s"
    if done.returncode == 0 and not done.stderr:
        return None
    return f"ended with {done.returncode}: {done.stdout}{done.stderr}"
