# SPDX-License-Identifier: MIT
"""scripts/mutate finds mutants that tests notice, reports the others, and leaves nothing changed.

A tree of one source stands for ours: a function that is tested, one that is not.
"""

import re
import subprocess
import sys

import pytest
from scripts import load

from harness import SOURCE_ROOT

pytestmark = pytest.mark.no_library

SOURCE = """#include <stdbool.h>
int tested(int n) {
    if (n == 3)
        return 1;
    return 0;
}
int untested(int n) {
    if (n == 4)
        return 1;
    return 0;
}
int the_same(int n) {
    int unused;
    unused = n;
    return n;
}
"""
TEST = """
int tested(int n);
int main(void) { return !(tested(3) == 1 && tested(2) == 0); }
"""
BUILD = ("mkdir -p build && gcc -O2 -c -o build/planted.o src/planted.c && "
         "gcc -o build/test-it it.c build/planted.o")
ENDLESS = """
int tested(int n) {
    volatile int left = n + 5;
    while (left != 3) {
        left--;
    }
    return n == 3;
}
"""
ACCEPTED = "planted.c | if (n == 4) | if (false) | an example\n"


@pytest.fixture
def tree(tmp_path):
    (tmp_path / "tree/src").mkdir(parents=True)
    (tmp_path / "temporary").mkdir()
    (tmp_path / "tree/src/planted.c").write_text(SOURCE)
    (tmp_path / "tree/it.c").write_text(TEST)
    (tmp_path / "equivalent").write_text("# file | before | after | reason\n" + ACCEPTED)
    return tmp_path / "tree"


def mutate(tree, *more, build=BUILD):
    return subprocess.run(
        [sys.executable, "-B", SOURCE_ROOT / "scripts/lib/mutate.py", "--tree", tree, "--source", "src/*.c",
         "--build", build, "--objects", "build/*.o", "--tests", "build/test-*", "--limit", "2",
         "--equivalent", tree.parent / "equivalent", *more],
        env={"PATH": "/usr/bin:/bin", "TMPDIR": str(tree.parent / "temporary")},
        check=False, capture_output=True, text=True, timeout=50)


def what_became(text):
    """Line of the source -> the verdicts that were printed of it."""
    found = {}
    for verdict, line in re.findall(r"^(survived|hung|not reached): planted\.c:(\d+)", text, re.MULTILINE):
        found.setdefault(SOURCE.splitlines()[int(line) - 1].strip(), []).append(verdict)
    return found


def test_what_is_tested_is_found_and_what_is_not_survives(tree):
    done = mutate(tree)
    assert (done.returncode, done.stderr) == (0, "")
    became = what_became(done.stdout)
    assert "if (n == 3)" not in became
    assert became["if (n == 4)"] == ["survived"] * 2  # ==, true; false is accepted
    row = row_of(done.stdout).split(" | ")
    made, found, hung, survived, unreached, accepted, same = map(int, row[:-1])
    assert made == found + hung + survived + unreached + accepted + same
    assert found >= 4 and hung == 0 and accepted == 1 and same >= 1 and unreached == 0
    assert row[-1] == f"{100 * found / (found + survived):.0f} %"


def row_of(text):
    """The counts of the planted source, as the table has them."""
    return re.search(r"^\| planted.c \| (.*) \|$", text, re.MULTILINE)[1]


def test_several_at_a_time_find_the_same(tree):
    alone, together = (mutate(tree, "--jobs", jobs) for jobs in ("1", "3"))
    assert (together.returncode, together.stderr) == (0, "")
    assert row_of(alone.stdout) == row_of(together.stdout)
    assert {line: sorted(found) for line, found in what_became(alone.stdout).items()} == {
        line: sorted(found) for line, found in what_became(together.stdout).items()}


def test_the_last_of_many_programs_finds(tree):
    """The first three are built one by one, the others at once."""
    (tree / "last.c").write_text(TEST.replace("tested", "untested").replace("(3)", "(4)"))
    build = f"{BUILD} && cp build/test-it build/test-a && cp build/test-it build/test-b && " \
            "cp build/test-it build/test-c && gcc -o build/test-z last.c build/planted.o"
    done = mutate(tree, build=build)
    assert done.returncode == 0 and "if (n == 4)" not in what_became(done.stdout)


def test_what_does_not_end_is_ended(tree):
    (tree / "src/planted.c").write_text(ENDLESS)
    (tree.parent / "equivalent").write_text("")
    done = mutate(tree)
    assert re.search(r"^hung: .*\n    - left--;\n", done.stdout, re.MULTILINE)
    left = subprocess.run(["ps", "-eo", "args"], check=True, capture_output=True, text=True).stdout
    assert str(tree.parent / "temporary") not in left


def test_nothing_is_changed_and_nothing_is_left(tree):
    mutate(tree, "--count", "3")
    assert (tree / "src/planted.c").read_text() == SOURCE
    assert sorted(path.name for path in tree.iterdir()) == ["it.c", "src"]
    assert list((tree.parent / "temporary").iterdir()) == []


def test_what_the_slow_tests_notice_is_found(tree):
    (tree.parent / "slow").write_text('*.c | grep -q "n == 4" src/planted.c\n')
    became = what_became(mutate(tree, "--slow", tree.parent / "slow").stdout)
    assert "if (n == 4)" not in became and "return 1;" in became


@pytest.mark.parametrize("text, complaint", [
    (TEST.replace("== 1", "== 2"), "build/test-it fails in the tree as it is"),
    ("int main(void) {", "the tree as it is does not build"),
])
def test_a_tree_that_fails_as_it_is_says_nothing_of_mutants(tree, text, complaint):
    (tree / "it.c").write_text(text)
    done = mutate(tree)
    assert done.returncode == 1 and complaint in done.stderr


def test_an_equivalent_needs_a_reason(tree):
    (tree.parent / "equivalent").write_text("planted.c | if (n == 4) | if (false)\n")
    assert "not 'file | before | after | reason'" in mutate(tree).stderr


@pytest.mark.parametrize("row", ["planted.c | if (n == 9) | if (false) | it was so",
                                 "gone.c | x; | ; | it was so"])
def test_an_equivalent_that_the_source_has_no_more_is_named(tree, row):
    (tree.parent / "equivalent").write_text(f"{ACCEPTED}{row}\n")
    done = mutate(tree, "--list")
    assert done.returncode == 1
    assert "no such line any more" in done.stderr and done.stderr.splitlines()[1:] == [row]


def test_each_accepted_mutant_is_one_of_today():
    done = subprocess.run([SOURCE_ROOT / "scripts/mutate", "--list", "--count", "1"], check=False,
                          capture_output=True, text=True, timeout=50)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_same_seed_makes_the_same_mutants(tree):
    lists = [mutate(tree, "--list", "--count", "5", "--seed", seed).stdout for seed in ("7", "7", "8")]
    assert lists[0] == lists[1] != lists[2]


# The text in a function -> its mutants.
PATTERNS = {
    "if (a < b && c)": ["if (a <= b && c)", "if (a < b || c)", "if (true)", "if (false)"],
    "x = a->b;": [";"],
    "call(a, !b); /* a < b */": ["; /* a < b */", "call(a, b); /* a < b */"],
    'say("a < b");': [";"],
    "int n = size + 1;": ["int n = size;", "int n = size - 1;"],
    "return false;": ["return true;"],
    "flags = ONE | TWO;": ["flags = ONE;", ";"],
    "n -= 2;": ["n += 2;", ";"],
    "(void)unused;": [],
}


@pytest.mark.parametrize("line", PATTERNS)
def test_patterns(line):
    made = load("mutants").mutants_of("one.c", f"void f(void) {{\n    {line}\n}}\n")
    assert sorted(mutant.after for mutant in made) == sorted(PATTERNS[line])
    assert all(mutant.line == 2 for mutant in made)


def test_two_calls_change_places():
    made = load("mutants").mutants_of("one.c", "void f(void) {\n    first(a);\n    second(b);\n}\n")
    assert [mutant.after for mutant in made if mutant.kind == "order"] == ["second(b); first(a);"]
