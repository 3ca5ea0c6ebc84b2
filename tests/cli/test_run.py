# SPDX-License-Identifier: MIT
"""unstall run: the program in its place, with the library before it."""

import pytest

from harness import LIB, bare_env, unstall

PRINT_PRELOAD = ["sh", "-c", 'echo "$LD_PRELOAD"']


def test_the_library_of_the_build_is_preloaded():
    assert unstall("run", *PRINT_PRELOAD, check=True).stdout == f"{LIB}\n"


@pytest.mark.parametrize("code", [0, 1, 77, 125, 255])
def test_the_exit_code_is_the_programs(code):
    assert unstall("run", "--", "sh", "-c", f"exit {code}").returncode == code


def test_a_bad_value_is_refused():
    done = unstall("run", "--mode", "fast", "true", env=bare_env())
    assert done.returncode == 125
    assert done.stderr == "unstall run: --mode fast: expected off, observe, nodelay, cork, coalesce or auto\n"
