# SPDX-License-Identifier: MIT
"""The sum at the end of scripts/test: nothing that went wrong may be missing from it."""

import json
import subprocess

import pytest

from harness import SOURCE_ROOT

pytestmark = pytest.mark.no_library

PYTEST = """<?xml version="1.0"?><testsuites><testsuite name="pytest">
<testcase classname="t" name="good"/>
{more}
</testsuite></testsuites>"""
BAD = '<testcase classname="t" name="bad"><failure message="m">x</failure></testcase>'
BROKEN = '<testcase classname="t" name="broken"><error message="m">x</error></testcase>'
LEFT_OUT = '<testcase classname="t" name="left"><skipped message="m"/></testcase>'
CRITERION = """<?xml version="1.0"?><testsuites name="Criterion Tests" tests="4">
<testsuite name="p" tests="2"><testcase name="q" assertions="1" status="PASSED"></testcase>
<testcase name="q" status="FAILED"><failure type="assert" message="m"/></testcase></testsuite>
<testsuite name="a" tests="2"><testcase name="r" status="SKIPPED"><skipped/></testcase>
<testcase name="s" status="ERRORED"><error type="crash" message="m" /></testcase></testsuite>
</testsuites>"""

MISSING = object()

# Meson's record of one program, the report it left, further arguments -> last line, exit code
EXPECTED = {
    "all well": ("OK", PYTEST.format(more=""), [], "1 passed, 0 failed", 0),
    "a failed case": ("FAIL", PYTEST.format(more=BAD), [], "1 passed, 1 failed", 1),
    "an error of a fixture": ("FAIL", PYTEST.format(more=BROKEN), [], "1 passed, 1 failed", 1),
    "a skipped case": ("OK", PYTEST.format(more=LEFT_OUT), [], "1 passed, 0 failed, 1 skipped", 0),
    "a skip where none may be": ("OK", PYTEST.format(more=LEFT_OUT), ["--skipped-is-failed"],
                                 "1 passed, 1 failed", 1),
    "Criterion": ("FAIL", CRITERION, [], "1 passed, 2 failed, 1 skipped", 1),
    "failed after a clean report": ("FAIL", PYTEST.format(more=""), [], "1 passed, 1 failed", 1),
    "out of time, no report": ("TIMEOUT", MISSING, [], "0 passed, 1 failed", 1),
    "well, but no report": ("OK", MISSING, [], "0 passed, 1 failed", 1),
    "half a report": ("FAIL", "<testsuites><tests", [], "0 passed, 1 failed", 1),
    "skipped as a whole": ("SKIP", MISSING, [], "0 passed, 0 failed, 1 skipped", 1),
    "a case from outside": ("OK", PYTEST.format(more=""), ["--case", "clang:failed"],
                            "1 passed, 1 failed", 1),
    "Meson itself failed": ("OK", PYTEST.format(more=""), ["--outcome", "failed"],
                            "1 passed, 1 failed", 1),
}


def counted(build, *arguments):
    """Runs the script; its lines and the exit code."""
    done = subprocess.run(
        ["/usr/bin/python3", "-B", SOURCE_ROOT / "scripts/lib/count-cases.py", *arguments, build],
        check=False, capture_output=True, text=True)
    return done.stdout.splitlines(), done.returncode


def count(build, *arguments):
    """The last line and the exit code."""
    lines, code = counted(build, *arguments)
    return lines[-1], code


def log(build, *programs, name="testlog"):
    """Writes Meson's log of (result, command) pairs."""
    (build / "meson-logs").mkdir(exist_ok=True)
    lines = [json.dumps({"name": "one", "result": result, "command": [str(word) for word in command]})
             for result, command in programs]
    (build / f"meson-logs/{name}.json").write_text("\n".join(lines) + "\n", encoding="utf-8")


@pytest.mark.parametrize("option", ["--junitxml", "--xml"])
@pytest.mark.parametrize("name", EXPECTED)
def test_the_sum_is_right(tmp_path, name, option):
    result, report, arguments, line, code = EXPECTED[name]
    path = tmp_path / "report.xml"
    if report is not MISSING:
        path.write_text(report, encoding="utf-8")
    log(tmp_path, (result, ["program", f"{option}={path}"]))
    assert count(tmp_path, *arguments) == (line, code)


def test_a_program_without_a_report_is_one_case(tmp_path):
    log(tmp_path, ("OK", ["program"]), ("FAIL", ["program"]), ("SKIP", ["program"]))
    assert count(tmp_path) == ("1 passed, 1 failed, 1 skipped", 1)


def test_both_logs_count(tmp_path):
    log(tmp_path, ("OK", ["program"]))
    log(tmp_path, ("FAIL", ["program"]), name="testlog-busy")
    assert count(tmp_path) == ("1 passed, 1 failed", 1)


def test_a_repeated_case_is_named(tmp_path):
    case = '<testcase classname="t" name="late"><properties>{}</properties></testcase>'.format(
        '<property name="repeated" value="0.61"/><property name="repeated" value="0.70"/>')
    (tmp_path / "report.xml").write_text(PYTEST.format(more=case), encoding="utf-8")
    log(tmp_path, ("OK", ["program", f"--xml={tmp_path}/report.xml"]))
    lines, _ = counted(tmp_path)
    assert lines == ["repeated: t::late: the host took 0.61, 0.70 of the time", "2 passed, 0 failed"]


def test_cases_left_out_for_want_of_time_are_no_skips_and_are_counted(tmp_path):
    case = '<testcase classname="t" name="last"><skipped message="left out"/></testcase>' * 2
    (tmp_path / "report.xml").write_text(PYTEST.format(more=case), encoding="utf-8")
    log(tmp_path, ("OK", ["program", f"--xml={tmp_path}/report.xml"]))
    lines, _ = counted(tmp_path, "--skipped-is-failed")
    assert lines == ["left out for want of time: 2 cases: 2 of t", "1 passed, 0 failed"]


def test_what_failed_stands_last_with_its_reason(tmp_path):
    bad = '<testcase classname="t" name="bad"><failure message="assert 1 == 2&#10;where"/></testcase>'
    last = '<testcase classname="u" name="last"><skipped message="left out"/></testcase>'
    (tmp_path / "report.xml").write_text(PYTEST.format(more=bad + last), encoding="utf-8")
    log(tmp_path, ("FAIL", ["program", f"--xml={tmp_path}/report.xml"]))
    lines, _ = counted(tmp_path)
    assert lines[1:] == ["failed: t::bad", "    assert 1 == 2", "    where", "1 passed, 1 failed"]


def test_nothing_run_is_no_success(tmp_path):
    assert count(tmp_path) == ("0 passed, 0 failed", 1)
