# SPDX-License-Identifier: MIT
"""scripts/lib/foreign-suites.py understands a suite's output, and finds a difference where there is one."""

import subprocess
import sys
import xml.etree.ElementTree as xml

import pytest

from harness import LIB, SOURCE_ROOT, patiently

sys.path.insert(0, str(SOURCE_ROOT / "scripts/lib"))

from foreign import judge, regrtest, say  # noqa: E402
from foreign.host import Host, compile_warm_up, reports  # noqa: E402

pytestmark = pytest.mark.no_library

REPORT = """<testsuites><testsuite>
<testcase name="test.test_x.A.test_well" status="run" result="completed"/>
<testcase name="test.test_x.A.test_left" status="run" result="completed"><skipped>no</skipped></testcase>
<testcase name="test.test_x.A.test_wrong" status="run" result="completed">
<failure type="AssertionError">x</failure></testcase>
<testcase name="test.test_x.A.test_broken" status="run" result="completed">
<error type="OSError">x</error></testcase>
<testcase name="test.test_x.A.test_known" status="run" result="completed">
<output type="OSError">x</output></testcase>
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
    return judge.Run(outcomes=outcomes)


def test_a_report_and_the_text_together():
    run = regrtest.understand(TEXT, xml.fromstring(REPORT), False)
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
    run = regrtest.understand("test_a (test.test_x.A.test_a) ... ok\ntest_b (test.test_x.A.test_b) ... ",
                              None, False)
    assert run.outcomes == {"test.test_x.A.test_a": "passed", "test.test_x.A.test_b": "hung"}


def test_a_run_that_ends_badly_for_no_test_is_an_error():
    report = xml.fromstring('<testsuites><testcase name="a" result="completed"/></testsuites>')
    assert regrtest.understand("", report, False).outcomes == {"a": "passed", "(end)": "error"}
    assert regrtest.understand("", report, True).outcomes == {"a": "passed"}


def test_differences_are_found():
    bare, other = run_of(a="passed", b="failed", c="passed"), run_of(a="passed", b="passed", d="passed")
    assert judge.differences(bare, other) == ["b", "c", "d"]
    assert judge.differences(bare, bare) == []


@pytest.mark.parametrize("bare, other, expected", [
    (["passed"] * 4, ["failed"] * 4, "different"),
    (["passed"] * 14, ["failed", "hung"] * 3 + ["passed"] * 8, "different"),
    (["passed"] * 14, ["failed", "hung"] * 2 + ["passed"] * 10, "flaky"),
    (["passed"] * 4, ["failed", "passed", "passed", "passed"], "flaky"),
    (["passed", "failed", "passed", "passed"], ["failed"] * 4, "flaky"),
    (["failed"] * 4, ["passed"] * 4, "different"),
])
def test_verdicts(bare, other, expected):
    assert judge.verdict(bare, other) == expected


class Planted:
    """A suite with one test, which fails in every mode."""
    name = "planted"

    def only(self, test):
        return test

    def run(self, mode, _host, only):
        return run_of(**{only: "passed" if mode == "bare" else "failed"})


@pytest.mark.parametrize("explained, expected", [({}, ["different", "different"]),
                                                 ({("planted", "a", "coalesce"): "why"},
                                                  ["different", "explained"])])
def test_a_difference_is_explained_in_its_mode_alone(monkeypatch, explained, expected):
    monkeypatch.setattr(judge, "EXPLAINED", explained)
    modes, suite = ("auto", "coalesce"), Planted()
    runs = {mode: suite.run(mode, None, "a") for mode in ("bare", *modes)}
    judged = judge.compare(suite, runs, modes, None, lambda line: None)
    assert [one.verdict for one in judged] == expected
    assert str(judged[0]) == "different: a, auto: 4 failed. bare: 4 passed"
    assert ("(why)" in str(judged[1])) == bool(explained)
    assert say.verdicts(modes, judged)[1] == ("same, 1 explained" if explained else "1 different")


@pytest.fixture(scope="module", name="warm_up")
def fixture_warm_up(tmp_path_factory):
    """The warm-up's library."""
    return compile_warm_up(tmp_path_factory.mktemp("warm-up"))


def test_the_library_must_be_there(tmp_path, warm_up):
    assert "is not loaded" in Host(tmp_path / "libunstall.so", warm_up).complaint()
    assert Host(LIB, warm_up).complaint() == ""


def test_a_warm_up_that_wakes_nothing_is_refused(tmp_path, warm_up):
    """One that comes behind the library finds it asleep: here an empty one stands for it."""
    idle = tmp_path / warm_up.name
    subprocess.run(["cc", "-shared", "-x", "c", "/dev/null", "-o", idle], check=True)
    assert "asleep" in Host(LIB, idle).complaint()


@pytest.mark.parametrize("mode, count", [("auto", "held_writes"), ("coalesce", "buffered_writes")])
def test_the_warm_up_is_over_before_main(mode, count, tmp_path, warm_up):
    """It has played the pattern and leaves one connection, under high numbers; also in a forked child."""
    program = """import os
print(sorted(map(int, os.listdir("/proc/self/fd"))))
if os.fork() == 0:
    print(sorted(map(int, os.listdir("/proc/self/fd"))), flush=True)
    os._exit(0)
print(os.wait()[1])"""
    host = Host(LIB, warm_up)

    def play():
        for report in tmp_path.iterdir():
            report.unlink()
        done = {which: subprocess.run([sys.executable, "-uc", program], env=host.environment(which, tmp_path),
                                      stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True)
                for which in ("bare", mode)}
        assert done["bare"].stdout == done[mode].stdout
        assert done["bare"].stdout == "[0, 1, 2, 3, 200, 201]\n[0, 1, 2, 3, 200, 201, 202, 203]\n0\n"
        assert done["bare"].stderr == done[mode].stderr == ""
        facts = list(reports(tmp_path))
        assert len(facts) == 2
        assert all(one[count] > 1 for one in facts)

    patiently(play)  # a pause of a millisecond between two of its writes ends a habit of `auto`


@pytest.mark.parametrize("test, match", [
    ("test.test_x.A.test_well", "test.test_x.A.test_well"),
    ("test.test_x.B.setUpClass", None),
    ("(end)", None),
])
def test_what_regrtest_is_asked_to_run_again(test, match):
    assert regrtest.Suite("test_x").only(test) == match


def test_the_table_goes_between_its_marks(tmp_path):
    document = tmp_path / "x.md"
    document.write_text("a\n<!-- python:begin -->\nold\n<!-- python:end -->\nb\n", encoding="utf-8")
    for _ in range(2):
        say.fill(document, "python",
                 say.block("Python", say.table(["suite", "auto"], [["test_x", "same"]]), []))
    text = document.read_text(encoding="utf-8")
    assert text.startswith("a\n") and text.endswith("<!-- python:end -->\nb\n")
    assert "old" not in text and text.count("| test_x") == 1
    document.write_text("no marks\n", encoding="utf-8")
    with pytest.raises(SystemExit, match="no block"):
        say.fill(document, "python", "")
