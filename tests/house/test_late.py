# SPDX-License-Identifier: MIT
"""What is late is stated once: Python has the numbers of late.h, and no source has one of its own."""

import re
import subprocess

import pytest

from harness import SOURCE_ROOT

pytestmark = pytest.mark.no_library

HEADER = "src/stats_file/late.h"
MODULE = "src/analysis/record/late.py"
# A whole number of ms around the delay of an acknowledgement.
OWN = re.compile(r"\b(20|29|30|35|36|40)(_?000_?000\b| \* (MS|1000 \* 1000)\b)|"
                 r"\b(DELAY|SLOW|LATE)\w* = (20|29|30|35|36|40)(000)?\b")
# Another thing that takes as long, with a word of its line.
OTHERS = {"ADVANCE": "the budget of a scan", "EARLY_NS": "how much too early a hold may end",
          "pause": "a tick of who", "room": "a size"}


def compiled(tmp_path):
    """The constants of the header, as the compiler has them."""
    text = (SOURCE_ROOT / HEADER).read_text(encoding="utf-8")
    names = re.findall(r"^    LATE_(\w+) =", text, re.MULTILINE)
    lines = "".join(f'printf("%s %d\\n", "{name}", LATE_{name});' for name in names)
    (tmp_path / "late.c").write_text("#include <stdio.h>\n#include \"late.h\"\n"
                                     f"int main(void) {{ {lines} }}\n", encoding="utf-8")
    subprocess.run(["cc", "-I", SOURCE_ROOT / "src/stats_file", "-o", "late", "late.c"], cwd=tmp_path,
                   check=True)
    told = subprocess.run([tmp_path / "late"], capture_output=True, text=True, check=True).stdout
    return {name: int(value) for name, value in map(str.split, told.splitlines())}


def test_python_has_the_numbers_of_the_header(tmp_path):
    header, module = compiled(tmp_path), {}
    exec((SOURCE_ROOT / MODULE).read_text(encoding="utf-8"), module)  # pylint: disable=exec-used
    own = {name: value for name, value in module.items() if name.isupper()}
    assert own and own == {name: header[name] for name in own}


def own_numbers(text):
    """The lines with a number of their own."""
    return [line.strip() for line in text.splitlines() if OWN.search(line) and
            not any(word in line for word in OTHERS)]


def test_no_source_has_a_number_of_its_own():
    found = {}
    for path in sorted((SOURCE_ROOT / "src").rglob("*")):
        if path.suffix in (".c", ".h", ".py") and path not in (SOURCE_ROOT / HEADER, SOURCE_ROOT / MODULE):
            lines = own_numbers(path.read_text(encoding="utf-8"))
            if lines:
                found[str(path)] = lines
    assert not found


@pytest.mark.parametrize("line, found", [
    ("enum { SLOW_NS = 40000000 };", True), ("SLOW_NS = 35_000_000", True), ("LATE_LEAST = 29 * MS", True),
    ("DELAY_MS = 30  # as long", True), ("LATE_US = 20000,", True), ("ROOM = 4000,", False),
    ("LATE_NS = LATE_AT_HOOK_MS * 1000000,", False),
])
def test_a_planted_number_is_found(line, found):
    assert bool(own_numbers(line)) is found
