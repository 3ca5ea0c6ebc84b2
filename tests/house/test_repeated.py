# SPDX-License-Identifier: MIT
"""tests/conftest.py repeats a case where the host took the processors, and begins none after the end."""

import os
import shutil
import subprocess
import xml.etree.ElementTree as xml

import pytest

from harness import SOURCE_ROOT

pytestmark = pytest.mark.no_library

CASES = """
import pytest
from harness.host import HostWatch

HostWatch.share_taken = lambda self: {share}
pytestmark = pytest.mark.no_library
made, called, served = [], [], []

@pytest.fixture(scope="module", name="server")
def a_server_that_starts_late():
    made.append(1)
    assert len(made) > 1

def test_late():
    called.append(1)
    assert len(called) > 2

def test_served(server):
    served.append(1)
    assert len(served) == len(made) - 1 > 1

def test_wrong():
    assert False

@pytest.mark.unstarved
def test_of_times():
    called.append(1)
"""
GOOD, BAD, LEFT_OUT = "passed", "failed", "left out"


def run(folder, share, **environment):
    """{case: (its outcome, how often it was repeated)} where the host takes `share` of the time."""
    shutil.copy(SOURCE_ROOT / "tests/conftest.py", folder)
    (folder / "test_cases.py").write_text(CASES.format(share=share), encoding="utf-8")
    subprocess.run(["/usr/bin/python3", "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider",
                    f"--rootdir={folder}", f"--junitxml={folder}/report.xml", folder],
                   check=False, capture_output=True,
                   env=os.environ | {"PYTHONPATH": SOURCE_ROOT / "tests", "UNSTALL_TESTS_END": ""} |
                   environment)
    return {case.get("name"): (BAD if case.findall("failure") + case.findall("error") else
                               LEFT_OUT if case.findall("skipped[@message='left out']") else GOOD,
                               len(case.findall("properties/property[@name='repeated']")))
            for case in xml.parse(folder / "report.xml").getroot().iter("testcase")}


def test_where_the_host_took_the_processors(tmp_path):
    assert run(tmp_path, 0.5) == {"test_late": (GOOD, 2), "test_served": (GOOD, 2), "test_wrong": (BAD, 29),
                                  "test_of_times": (GOOD, 0)}


def test_where_the_machine_ran(tmp_path):
    assert run(tmp_path, 0.05) == {"test_late": (BAD, 0), "test_served": (BAD, 0), "test_wrong": (BAD, 0),
                                   "test_of_times": (GOOD, 0)}


def test_after_the_end_no_case_is_begun(tmp_path):
    assert set(run(tmp_path, 0, UNSTALL_TESTS_END="1").values()) == {(LEFT_OUT, 0)}


def test_on_a_starved_host_no_statistic_of_times_is_judged(tmp_path):
    assert run(tmp_path, 0, UNSTALL_TESTS_END="inf")["test_of_times"] == (LEFT_OUT, 0)
