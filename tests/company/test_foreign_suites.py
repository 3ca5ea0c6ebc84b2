# SPDX-License-Identifier: MIT
"""scripts/lib/foreign-suites.py understands what regrtest says, and finds a difference where there is one."""

import importlib.util
import sys
import xml.etree.ElementTree as xml

import pytest

from harness import SOURCE_ROOT

pytestmark = pytest.mark.no_library


def load():
    """The script as a module."""
    spec = importlib.util.spec_from_file_location("foreign_suites", SOURCE_ROOT / "scripts/lib/foreign-suites.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


foreign = load()

REPORT = """<testsuites><testsuite>
<testcase name="test.test_x.A.test_well" status="run" result="completed"/>
<testcase name="test.test_x.A.test_left" status="run" result="completed"><skipped>no</skipped></testcase>
<testcase name="test.test_x.A.test_wrong" status="run" result="completed"><failure type="AssertionError">x</failure></testcase>
<testcase name="test.test_x.A.test_broken" status="run" result="completed"><error type="OSError">x</error></testcase>
<testcase name="test.test_x.A.test_known" status="run" result="completed"><output type="OSError">x</output></testcase>
<testcase />
</testsuite></testsuites>"""

TEXT = """test_well (test.test_x.A.test_well) ... ok
test_sub (test.test_x.A.test_sub) ...
ERROR: test_sub (test.test_x.A.test_sub) (number=3)
FAIL: test_well (test.test_x.A.test_well) [again]
ERROR: setUpClass (test.test_x.B)
"""


def run_of(**outcomes):
    """A Run with these outcomes."""
    return foreign.Run(outcomes=outcomes)


def test_a_report_and_the_text_together():
    run = foreign.understand(TEXT, xml.fromstring(REPORT), False)
    assert run.outcomes == {
        "test.test_x.A.test_well": "failed",
        "test.test_x.A.test_left": "skipped",
        "test.test_x.A.test_wrong": "failed",
        "test.test_x.A.test_broken": "error",
        "test.test_x.A.test_known": "expected failure",
        "test.test_x.A.test_sub": "error",
        "test.test_x.B.setUpClass": "error",
    }


def test_the_last_test_of_a_run_without_a_report_hung():
    run = foreign.understand("test_a (test.test_x.A.test_a) ... ok\ntest_b (test.test_x.A.test_b) ... ", None, False)
    assert run.outcomes == {"test.test_x.A.test_a": "passed", "test.test_x.A.test_b": "hung"}


def test_a_run_that_ends_badly_for_no_test_is_an_error():
    report = xml.fromstring('<testsuites><testcase name="a" result="completed"/></testsuites>')
    assert foreign.understand("", report, False).outcomes == {"a": "passed", "(end)": "error"}
    assert foreign.understand("", report, True).outcomes == {"a": "passed"}


def test_differences_are_found():
    bare, other = run_of(a="passed", b="failed", c="passed"), run_of(a="passed", b="passed", d="passed")
    assert foreign.differences(bare, other) == ["b", "c", "d"]
    assert foreign.differences(bare, bare) == []


@pytest.mark.parametrize("bare, other, expected", [
    (["passed"] * 4, ["failed"] * 4, "different"),
    (["passed"] * 4, ["failed", "passed", "hung", "passed"], "different"),
    (["passed"] * 4, ["failed", "passed", "passed", "passed"], "flaky"),
    (["passed", "failed", "passed", "passed"], ["failed"] * 4, "flaky"),
    (["failed"] * 4, ["passed"] * 4, "different"),
])
def test_verdicts(bare, other, expected):
    assert foreign.verdict(bare, other) == expected


def test_the_library_must_be_there(tmp_path):
    assert not foreign.loaded(tmp_path / "libunstall.so")


@pytest.mark.parametrize("test, match", [
    ("test.test_x.A.test_well", "test.test_x.A.test_well"),
    ("test.test_x.B.setUpClass", None),
    ("(end)", None),
])
def test_what_regrtest_is_asked_to_run_again(test, match):
    assert foreign.name_to_match(test) == match


def test_the_table_goes_between_its_marks(tmp_path):
    document = tmp_path / "x.md"
    document.write_text("a\n<!-- table:begin -->\nold\n<!-- table:end -->\nb\n", encoding="utf-8")
    rows = [["test_x", *["same"] * (len(foreign.HEAD) - 1)]]
    for _ in range(2):
        foreign.write_markdown(document, rows, [])
    text = document.read_text(encoding="utf-8")
    assert text.startswith("a\n") and text.endswith("<!-- table:end -->\nb\n")
    assert "old" not in text and text.count("| test_x") == 1
    document.write_text("no marks\n", encoding="utf-8")
    with pytest.raises(SystemExit, match="no block"):
        foreign.write_markdown(document, rows, [])
