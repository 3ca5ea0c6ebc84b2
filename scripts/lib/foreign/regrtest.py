# SPDX-License-Identifier: MIT
"""Python's own test suite, as Debian packages it: a module of the package `test` is a suite.

The suites talk over loopback only: regrtest's resource `network` is not enabled, but for
test_socketserver, which asks for it as a whole and uses localhost alone.
"""

import importlib.util
import re
import sys
import tempfile
import time
import xml.etree.ElementTree as xml
from dataclasses import dataclass
from pathlib import Path

from .host import kept, reports, run_bounded
from .judge import Run

_STARTED = re.compile(r"^\w+ \((test\.[\w.]+)\)", re.M)
_WRONG = re.compile(r"^(FAIL|ERROR): (\w+) \(([\w.]+)\)", re.M)


def outcome_of_case(case):
    """The outcome of a <testcase> of regrtest."""
    for child, outcome in (("error", "error"), ("failure", "failed"), ("output", "expected failure"),
                           ("skipped", "skipped")):
        if case.find(child) is not None:
            return outcome
    return "failed" if case.get("outcome") or case.find("outcome") is not None else "passed"


def understand(text, report, ended):
    """The Run that regrtest's -v output and its JUnit file (None: there is none) tell of.

    Failures of subtests and of setUpClass are in the text alone.  Without a report the run was
    ended from outside or crashed: the test that had started last is the one that hung.
    """
    run = Run()
    for case in report.iter("testcase") if report is not None else ():
        if case.get("name"):
            run.note(case.get("name"), outcome_of_case(case))
    for what, method, owner in _WRONG.findall(text):
        test = owner if owner.endswith(f".{method}") else f"{owner}.{method}"
        run.note(test, "error" if what == "ERROR" else "failed")
    if report is None:
        started = _STARTED.findall(text)
        for test in started:
            run.note(test, "passed")
        run.note(started[-1] if started else "(start)", "hung")
    elif not ended and not set(run.outcomes.values()) & {"failed", "error"}:
        run.note("(end)", "error")  # regrtest itself is not content: say so
    return run


@dataclass(frozen=True)
class Suite:
    """A module of Python's `test` package."""
    name: str
    quick: bool = False
    resources: str = ""
    limit: int = 300  # seconds for the whole of it
    ignored: tuple = ()

    def run(self, mode, host, only=None):
        """All of the module, or the tests whose names `only` matches."""
        with tempfile.TemporaryDirectory(prefix="us-") as folder:
            told = Path(folder, "reports")
            told.mkdir()
            command = [sys.executable, "-m", "test", "-v", "--tempdir", folder, "--junit-xml",
                       f"{folder}/junit.xml"]
            command += ["-u", self.resources] if self.resources else []
            command += [word for pattern in self.ignored for word in ("-i", pattern)]
            command += ["-m", only] if only else []
            begin = time.monotonic()
            status, text = run_bounded([*command, self.name], host.environment(mode, told), self.limit)
            try:
                report = xml.parse(f"{folder}/junit.xml").getroot()
            except (OSError, xml.ParseError):
                report = None
            run = understand(text, report, status == 0)
            run.seconds = time.monotonic() - begin
            for facts in reports(told):
                run.connections += facts["connections"]
                run.worked += kept(facts) + facts["late_pushes"]
            return run

    def only(self, test):
        """regrtest's argument -m for a test; None where only the whole suite can be run again."""
        method = test.rpartition(".")[2]
        return None if method in ("setUpClass", "tearDownClass", "setUpModule") or "(" in test else test


SUITES = (
    # The device /dev/vsock of a virtual machine without a host that answers: hangs bare.
    Suite("test_socket", ignored=("*VSOCK*",), limit=600),
    Suite("test_asyncio", limit=600),
    Suite("test_ssl"),
    Suite("test_httplib", quick=True),
    Suite("test_ftplib", quick=True),
    Suite("test_smtplib", quick=True),
    Suite("test_subprocess"),
    Suite("test_multiprocessing_spawn", limit=900),
    Suite("test_selectors"),
    Suite("test_socketserver", quick=True, resources="network"),
    Suite("test_threading"),
    Suite("test_signal"),
    Suite("test_os"),
    Suite("test_posix", quick=True),
    Suite("test_fork1", quick=True),
    Suite("test_eintr"),
    Suite("test_io"),
)


def missing():
    """Why these suites cannot run here; empty if they can."""
    if importlib.util.find_spec("test.test_socket") is None:
        major, minor = sys.version_info[:2]
        return f"Python's tests are not installed: libpython{major}.{minor}-testsuite"
    return ""
