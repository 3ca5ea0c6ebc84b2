#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs Python's own test suite, as Debian packages it, bare and under the library, and compares.

    foreign-suites.py --library libunstall.so [--quick] [--junit-xml=FILE] [--markdown FILE] [SUITE...]

Every test must end under `auto`, `cork` and `coalesce` as it ends bare.  A test that did not is
run again, bare and under that mode: where bare it ends the same way now and then, or where it never
does so again, it is flaky and named; else it is a difference, and the exit code is 1.

The suites talk over loopback only: regrtest's resource `network` is not enabled, but for
test_socketserver, which asks for it as a whole and uses localhost alone.
"""

import argparse
import concurrent.futures
import importlib.util
import json
import os
import platform
import re
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as xml
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

MODES = ("auto", "cork", "coalesce")
TRIES = 3  # of a test that ended otherwise, bare and in its mode


@dataclass(frozen=True)
class Suite:
    """A module of Python's `test` package."""
    name: str
    quick: bool = False
    resources: str = ""
    limit: int = 300  # seconds for the whole of it
    ignored: tuple = ()


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
    Suite("test_selectors", quick=True),
    Suite("test_socketserver", quick=True, resources="network"),
)

# ---- what a run said -------------------------------------------------------

_STARTED = re.compile(r"^\w+ \((test\.[\w.]+)\)", re.M)
_WRONG = re.compile(r"^(FAIL|ERROR): (\w+) \(([\w.]+)\)", re.M)
_RANK = ("passed", "skipped", "expected failure", "failed", "error", "hung")


@dataclass
class Run:
    """One suite, run once."""
    outcomes: dict = field(default_factory=dict)  # test -> one of _RANK
    seconds: float = 0
    processes: int = 0
    connections: int = 0
    kept: int = 0  # writes held or gathered
    pushed: int = 0  # late pushes
    tail: str = ""

    def note(self, test, outcome):
        """A test's outcome; of several the worst counts."""
        self.outcomes[test] = max(self.outcomes.get(test, outcome), outcome, key=_RANK.index)


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
    run.tail = text[-3000:]
    return run


def read_reports(folder, run):
    """Add up what the library's own reports of all the processes say."""
    for path in Path(folder).glob("*.json"):
        try:
            facts = json.loads(path.read_text(encoding="utf-8"))
        except ValueError:
            continue
        run.processes += 1
        run.connections += facts["connections"]
        run.kept += facts["held_writes"] + facts["gathered_writes"]
        run.pushed += facts["late_pushes"]


# ---- running ---------------------------------------------------------------

def environment(mode, library, reports):
    """That of a run: this process's, without and with the library."""
    env = {name: value for name, value in os.environ.items()
           if name != "LD_PRELOAD" and not name.startswith(("UNSTALL_", "PYTHON"))}
    if mode != "bare":
        env |= {"LD_PRELOAD": str(library), "UNSTALL_MODE": mode, "UNSTALL_REPORT": f"{reports}/%p.json"}
    return env


def loaded(library):
    """Whether a Python really gets the library, before any result is believed."""
    probe = "print('libunstall' in open('/proc/self/maps').read())"
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([sys.executable, "-c", probe], env=environment("auto", library, folder),
                              capture_output=True, text=True, check=False)
        return done.stdout == "True\n" and any(Path(folder).iterdir())


def run_suite(suite, mode, library, only=None):
    """Run a suite (or one test of it) once, in a session of its own, bounded."""
    with tempfile.TemporaryDirectory(prefix="us-") as folder:
        reports = Path(folder, "reports")
        reports.mkdir()
        command = [sys.executable, "-m", "test", "-v", "--tempdir", folder, "--junit-xml", f"{folder}/junit.xml"]
        command += ["-u", suite.resources] if suite.resources else []
        command += [word for pattern in suite.ignored for word in ("-i", pattern)]
        command += ["-m", only] if only else []
        begin = time.monotonic()
        with open(f"{folder}/output", "w+", encoding="utf-8", errors="replace") as output:
            with subprocess.Popen([*command, suite.name], env=environment(mode, library, reports),
                                  stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                                  start_new_session=True) as process:
                try:
                    ended = process.wait(suite.limit) == 0
                except subprocess.TimeoutExpired:
                    ended = False
                finally:
                    end_session(process)
            output.seek(0)
            text = output.read()
        try:
            report = xml.parse(f"{folder}/junit.xml").getroot()
        except (OSError, xml.ParseError):
            report = None
        run = understand(text, report, ended)
        run.seconds = time.monotonic() - begin
        read_reports(reports, run)
        return run


def end_session(process):
    """End what the suite left behind, it included."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


# ---- comparing -------------------------------------------------------------

def differences(bare, other):
    """Tests that ended differently, or are in one run only."""
    return sorted(test for test in bare.outcomes.keys() | other.outcomes.keys()
                  if bare.outcomes.get(test) != other.outcomes.get(test))


def verdict(bare, other):
    """`flaky` or `different`, from all the outcomes of one test, bare and under a mode."""
    odd = [outcome for outcome in other if outcome not in set(bare)]
    return "different" if len(odd) > 1 else "flaky"


def name_to_match(test):
    """What regrtest's -m takes for a test; None where only the whole suite can be run again."""
    method = test.rpartition(".")[2]
    return None if method in ("setUpClass", "tearDownClass", "setUpModule") or "(" in test else test


@dataclass
class Judged:
    """A test that did not end as bare."""
    suite: str
    mode: str
    test: str
    verdict: str
    bare: list
    other: list

    def __str__(self):
        return (f"{self.verdict}: {self.test}, {self.mode}: {', '.join(self.other)}; "
                f"bare: {', '.join(self.bare)}")


def judge(suite, mode, test, runs, library):
    """Run a test again, bare and under its mode, and say what it is."""
    only = name_to_match(test)
    seen = {"bare": [], mode: []}
    for who, outcomes in seen.items():
        outcomes.append(runs[who].outcomes.get(test, "absent"))
        for _ in range(TRIES):
            outcomes.append(run_suite(suite, who, library, only).outcomes.get(test, "absent"))
    return Judged(suite.name, mode, test, verdict(seen["bare"], seen[mode]), seen["bare"], seen[mode])


def compare(suite, library, pool, say):
    """Run one suite bare and in every mode; give (runs, judged)."""
    pending = {mode: pool.submit(run_suite, suite, mode, library) for mode in ("bare", *MODES)}
    runs = {mode: job.result() for mode, job in pending.items()}
    judged = []
    for mode in MODES:
        odd = differences(runs["bare"], runs[mode])
        if len(odd) > 20:  # no time to run so many again: something is broken
            judged += [Judged(suite.name, mode, test, "different", [runs["bare"].outcomes.get(test, "absent")],
                              [runs[mode].outcomes.get(test, "absent")]) for test in odd]
            continue
        judged += [judge(suite, mode, test, runs, library) for test in odd]
    for one in judged:
        say(f"  {one}")
    return runs, judged


# ---- saying ----------------------------------------------------------------

def counted(run):
    """`118 passed, 2 skipped`"""
    counts = Counter(run.outcomes.values())
    return ", ".join(f"{counts[outcome]} {outcome}" for outcome in _RANK if counts[outcome])


def row(suite, runs, judged):
    """One line of the table."""
    cells = [suite.name, counted(runs["bare"])]
    for mode in MODES:
        odd = [one for one in judged if one.mode == mode]
        wrong = sum(one.verdict == "different" for one in odd)
        cells.append(f"{wrong} different" if wrong else f"same, {len(odd)} flaky" if odd else "same")
    # test_subprocess and its like make no connection: they show that processes live on unharmed.
    cells.append(f"{sum(runs[mode].connections for mode in MODES)}")
    cells.append(" / ".join(str(runs[mode].kept + runs[mode].pushed) for mode in MODES))
    cells.append(f"{runs['bare'].seconds:.0f} s")
    return cells


HEAD = ["suite", "bare", *MODES, "connections", f"held, gathered or pushed ({', '.join(MODES)})", "time bare"]


def table(rows):
    """Markdown, in columns."""
    widths = [max(len(line[i]) for line in [HEAD, *rows]) for i in range(len(HEAD))]
    lines = [HEAD, ["-" * width for width in widths], *rows]
    return "".join("| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths)) + " |\n"
                   for line in lines)


def write_markdown(path, rows, judged):
    """The table of a run between its marks in a document."""
    text = path.read_text(encoding="utf-8")
    begin, end = "<!-- table:begin -->\n", "<!-- table:end -->"
    head, _, rest = text.partition(begin)
    _, _, foot = rest.partition(end)
    if not rest or not foot:
        sys.exit(f"{path}: no block for the table")
    flaky = "".join(f"- {one}\n" for one in judged) or "None.\n"
    stand = f"Python {platform.python_version()}, {time.strftime('%Y-%m-%d', time.gmtime())}, kernel {platform.release()}."
    path.write_text(f"{head}{begin}{stand}\n\n{table(rows)}\nNot as bare at first, and run again:\n\n{flaky}{end}{foot}",
                    encoding="utf-8")


def write_junit(path, results):
    """One case for each suite and mode."""
    root = xml.Element("testsuite", name="foreign")
    for suite, runs, judged in results:
        for mode in MODES:
            case = xml.SubElement(root, "testcase", classname=suite.name, name=mode)
            wrong = [str(one) for one in judged if one.mode == mode and one.verdict == "different"]
            if wrong:
                xml.SubElement(case, "failure", message="not as bare").text = "\n".join(wrong)
    path.parent.mkdir(parents=True, exist_ok=True)
    xml.ElementTree(root).write(path)


def arguments():
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--library", required=True, type=Path)
    parser.add_argument("--quick", action="store_true", help="only what fits in two minutes")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--junit-xml", type=Path)
    parser.add_argument("--markdown", type=Path, help="a document with a block for the table")
    parser.add_argument("suites", nargs="*", metavar="SUITE")
    return parser.parse_args()


def chosen(names, quick):
    """The suites to run."""
    known = {suite.name: suite for suite in SUITES}
    for name in names:
        if name not in known:
            sys.exit(f"no suite {name}; there are: {' '.join(known)}")
    return [known[name] for name in names] or [suite for suite in SUITES if suite.quick or not quick]


def skip(reason):
    """Exit as a test that is skipped, or that failed where none may be."""
    print(reason, file=sys.stderr)
    sys.exit(1 if os.environ.get("UNSTALL_TESTS_MUST_RUN") == "1" else 77)


def main():
    """Run, compare, say."""
    # Where a shell has started us in the background SIGINT is ignored, and tests that raise it fail bare.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    wanted = arguments()
    library = wanted.library.resolve()
    suites = chosen(wanted.suites, wanted.quick)
    if importlib.util.find_spec("test.test_socket") is None:
        skip(f"Python's tests are not installed: libpython{sys.version_info[0]}.{sys.version_info[1]}-testsuite")
    if not loaded(library):
        sys.exit(f"{library} is not loaded into {sys.executable}")
    results = []
    with concurrent.futures.ThreadPoolExecutor(wanted.jobs) as pool:
        for suite in suites:
            print(suite.name, flush=True)
            runs, judged = compare(suite, library, pool, lambda line: print(line, flush=True))
            print(f"  bare: {counted(runs['bare'])}", flush=True)
            results.append((suite, runs, judged))
    rows = [row(*result) for result in results]
    judged = [one for result in results for one in result[2]]
    print(f"\n{table(rows)}", end="")
    if wanted.markdown:
        write_markdown(wanted.markdown, rows, judged)
    if wanted.junit_xml:
        write_junit(wanted.junit_xml, results)
    nothing = [suite.name for suite, runs, _ in results if "passed" not in runs["bare"].outcomes.values()]
    if nothing:
        sys.exit(f"nothing passes bare: {' '.join(nothing)}")
    return any(one.verdict == "different" for one in judged)


if __name__ == "__main__":
    sys.exit(main())
