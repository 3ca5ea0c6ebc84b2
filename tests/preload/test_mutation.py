# SPDX-License-Identifier: MIT
"""Deleting any one entry of the surface table fails its test.

Each name in turn is taken out of a copy of the library; the check of its row must then fail.
"""

import os
import pytest

from harness import IS_32, LIB, preload_env
from waits import elf, rows
from waits.client import TIMES_OF_64, answers, needs
from waits.judge import Held, judge, judge_again

# A jump matters where it leaves our lock.  No act of this program does that, because no pointer of the caller
# is followed there (readable.h).  tests/unit/test_reentry.c and tests/torture/directed/signals.c cover it.
JUMPS = ("longjmp", "_longjmp", "siglongjmp", "__longjmp_chk")

CHECKS = [(name, check) for name in sorted(rows.ROWS) for check in rows.ROWS[name].checks
          if name not in JUMPS]


@pytest.fixture
def without(tmp_path):
    """Makes libraries that lack one name."""
    return lambda name: elf.without(LIB, name, tmp_path / f"libunstall-without-{name}.so")


@pytest.mark.parametrize("name", sorted(rows.ROWS))
def test_the_copy_has_lost_that_name_alone(name, without):
    needs(name)
    lacking = without(name)
    assert elf.exported(LIB) - elf.exported(lacking) == {name}
    before, after = (answers(name, preload_env(library=each)) for each in (LIB, lacking))
    assert os.path.samefile(before, LIB)
    assert after not in (str(lacking), "nowhere")


@pytest.mark.parametrize("name,check", CHECKS, ids=[f"{check.act}" for _, check in CHECKS])
def test_without_its_row_the_check_fails(name, check, without):
    needs(name)
    with pytest.raises(Held):
        judge(check, check.modes[0], without(name))


if IS_32:
    @pytest.mark.parametrize("name", rows.OF_64)
    def test_without_its_row_a_program_with_64_bit_times_waits_too_long(name, without):
        check = rows.OF_64[name]
        with pytest.raises(Held):
            judge(check, check.modes[0], without(name), flags=TIMES_OF_64)


def test_an_untouched_copy_passes(tmp_path):
    copy = tmp_path / "libunstall-whole.so"
    copy.write_bytes(LIB.read_bytes())
    judge_again(rows.ROWS["poll"].checks[0], "cork", copy)
