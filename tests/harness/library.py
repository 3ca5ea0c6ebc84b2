# SPDX-License-Identifier: MIT
"""Where the library under test lies, and the environments that children get."""

import os
from pathlib import Path

import pytest

SOURCE_ROOT = Path(os.environ.get("UNSTALL_SOURCE_ROOT", Path(__file__).resolve().parents[2]))
# As configure() of scripts/lib/build.sh leaves it.
BUILD_ROOT = Path(os.environ.get("UNSTALL_BUILD_ROOT", SOURCE_ROOT / "build")).resolve()
LIB = Path(os.environ.get("UNSTALL_LIB", BUILD_ROOT / "src/preload/libunstall.so"))
HOOK_LIB = Path(os.environ.get("UNSTALL_HOOK_LIB", BUILD_ROOT / "src/preload/libunstall-hook.so"))

# The class and the processor of the library (elf(5)).  A 32-bit one has the rows ROW32 of surface.def, too.
_HEAD = LIB.read_bytes()[:20] if LIB.exists() else bytes(20)
IS_32 = _HEAD[4] == 1
_MACHINES = {3: "x86", 22: "s390x", 40: "arm", 62: "x86_64", 183: "aarch64", 243: "riscv64"}
PROCESSOR = _MACHINES.get(int.from_bytes(_HEAD[18:20], "big" if _HEAD[5] == 2 else "little"))
ROW = "ROW(?:32)?" if IS_32 else "ROW"

PASSING_MODES = ("off", "observe")
CURING_MODES = ("nodelay", "cork", "coalesce", "auto")
MODES = PASSING_MODES + CURING_MODES

# Under strace, and on a busy machine, a turn may last longer than the default window, and than a habit's
# limit.  For tests of a turn's outcome.
WIDE = {"UNSTALL_WINDOW_US": "100000", "UNSTALL_THREAD": "always"}

# Where the library is built with a sanitizer: its runtime, and the libraries after it (scripts/sanitize).
_BEFORE = os.environ.get("UNSTALL_TESTS_PRELOAD_BEFORE", "")
_BEHIND = os.environ.get("UNSTALL_TESTS_PRELOAD_BEHIND", "")

# A folder with the libraries of both word sizes, each where $LIB leads to: the system's own programs are
# 64-bit ones (scripts/arch --suites i386).
_BOTH = os.environ.get("UNSTALL_TESTS_BOTH_SIZES", "")

# The variables that describe the build to the tests must not reach the programs under test.
_OWN = {"LD_PRELOAD"}


def need_root(why):
    """Skips where this process is not root: `only root WHY`."""
    if os.geteuid() != 0:
        skip(f"only root {why}")


def bare_env(**variables):
    """This process's environment without the library and without any UNSTALL_ variable."""
    env = {name: value for name in list(os.environ)  # pytest deletes one meanwhile, in another thread
           if (value := os.environ.get(name)) is not None and
           name not in _OWN and not name.startswith("UNSTALL_")}
    env.update({name: str(value) for name, value in variables.items()})
    return env


def _entry(library):
    return f"{_BOTH}/$LIB/{library.name}" if _BOTH and library in (LIB, HOOK_LIB) else library


def preload_env(mode=None, library=None, **variables):
    """An environment with the library loaded.

    `mode` is UNSTALL_MODE (None: unset, the default mode).  Other keywords are environment
    variables by their full names, UNSTALL_ ones or any others.
    """
    env = bare_env(LD_PRELOAD=f"{_BEFORE}{_entry(library or LIB)}{_BEHIND}")
    if mode is not None:
        env["UNSTALL_MODE"] = mode
    env.update({name: str(value) for name, value in variables.items()})  # may name LD_PRELOAD too
    return env


def mode_env(mode, **variables):
    """preload_env(mode), where the mode `bare` means: without the library."""
    if mode == "bare":
        kept = {name: value for name, value in variables.items() if not name.startswith("UNSTALL_")}
        return bare_env(**kept)
    return preload_env(mode, **variables)


def skip(reason):
    """Skip this test; a failure where UNSTALL_TESTS_MUST_RUN=1 says that nothing may be skipped."""
    if os.environ.get("UNSTALL_TESTS_MUST_RUN") == "1":
        pytest.fail(f"must not be skipped here: {reason}", pytrace=False)
    pytest.skip(reason)
