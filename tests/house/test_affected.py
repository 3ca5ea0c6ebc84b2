# SPDX-License-Identifier: MIT
"""docs/affected.md and the table of `unstall doctor` agree with the victims' files."""

import re
import sys

import pytest

from harness import SOURCE_ROOT

sys.path.insert(0, str(SOURCE_ROOT / "tests" / "victims"))
from runner import affected  # noqa: E402 pylint: disable=wrong-import-position

pytestmark = pytest.mark.no_library

VERSION = re.compile(r"^(\| [^|]+ \| )[^|]+ \|", re.MULTILINE)


def without_versions(text):
    """The page, without the versions of this machine."""
    return VERSION.sub(r"\1* |", text)


def test_the_page_is_up_to_date():
    written = affected.PAGE.read_text("utf-8")
    assert without_versions(affected.page(written)) == without_versions(written), \
        "run scripts/gallery --affected"


def test_each_software_has_a_version():
    rows = [line.split("|")[2].strip() for line in affected.PAGE.read_text("utf-8").splitlines()
            if line.startswith("| ") and not line.startswith("| software")]
    assert rows
    assert all(re.match(r"\d+\.\d", version) for version in rows), rows


def test_each_software_says_how_to_see_it_and_what_helps():
    _, *parts = affected.PAGE.read_text("utf-8").split("\n**")
    assert parts
    for part in parts:
        command = re.search("^- To see it: `unstall observe -- (.*)`$", part, re.MULTILINE).group(1)
        assert f"\n- With unstall: `unstall run -- {command}`\n" in part
        assert "\n- The stall: " in part and "\n- In the source" in part


def test_the_table_of_doctor_is_up_to_date():
    assert affected.table() == affected.TABLE.read_text("utf-8"), "run scripts/gallery --affected"


def test_two_softwares_have_no_sign_in_common():
    signs = [sign for _, victim in affected.all_affected()
             for sign in (*victim.affected.programs, *victim.affected.words, *victim.affected.libraries)]
    assert signs
    assert len(signs) == len(set(signs))


def test_no_row_has_more_signs_than_the_c_table_takes():
    most = max(len(getattr(victim.affected, kind)) for _, victim in affected.all_affected()
               for kind in ("programs", "words", "libraries"))
    header = (affected.TABLE.parent / "diagnosis.h").read_text("utf-8")
    assert most <= int(re.search(r"AFFECTED_SIGNS = (\d+)", header).group(1))
