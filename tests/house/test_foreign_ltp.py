# SPDX-License-Identifier: MIT
"""scripts/foreign-suites --ltp finds planted differences in a folder like a Linux Test Project."""

import subprocess
import sys
import xml.etree.ElementTree as xml

import pytest

from harness import LIB, SOURCE_ROOT

pytestmark = pytest.mark.no_library

LOADED = "grep -q libunstall /proc/self/maps"

SYSCALLS = {
    "same01": "exit 0",
    "fails01": 'echo "x.c:1: TFAIL: always"; exit 1',
    "skips01": "exit 32",
    "loaded01": f'{LOADED} && echo "x.c:7: TFAIL: loaded" && exit 1; exit 0',
    "worse01": f'echo "x.c:3: TFAIL: always"; {LOADED} && echo "x.c:4: TFAIL: loaded"; exit 1',
    "buffer01": 'test "$UNSTALL_MODE" != coalesce || kill -SEGV $$',
    "noise01": 'echo x >>"$0.runs"; test "$(wc -l <"$0.runs")" -gt 1',
    "once01": f'{LOADED} || exit 0; test -e "$0.done" && exit 0; touch "$0.done"; exit 1',
    "swapon01": "exit 1",
}
POSIX = {
    "interfaces/aio_write/1-1": f"{LOADED} && exit 2; exit 0",
    "interfaces/fork/1-1": "exit 0",
    "interfaces/lio_listio/2-1": "exit 5",
}


@pytest.fixture(name="planted")
def fixture_planted(tmp_path):
    """A folder with these programs."""
    tmp_path.chmod(0o777)
    programs = {f"testcases/bin/{name}": text for name, text in SYSCALLS.items()}
    programs |= {f"testcases/open_posix_testsuite/conformance/{name}.run-test": text
                 for name, text in POSIX.items()}
    for name, text in programs.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
        path.chmod(0o755)
    (tmp_path / "runtest").mkdir()
    lines = ["# a comment", "", *(f"{name} {name} -i 1" for name in SYSCALLS)]
    (tmp_path / "runtest/syscalls").write_text("\n".join(lines), encoding="utf-8")
    (tmp_path / "Version").write_text("20260101\n", encoding="utf-8")
    return tmp_path


def run(*arguments):
    """The driver, to its end."""
    script = SOURCE_ROOT / "scripts/lib/foreign-suites.py"
    return subprocess.run([sys.executable, "-B", script, "--library", LIB, *map(str, arguments)], check=False,
                          timeout=50, capture_output=True, text=True)


def test_what_differs_under_the_library_is_reported(planted, tmp_path_factory):
    folder = tmp_path_factory.mktemp("told")
    document = folder / "x.md"
    document.write_text("<!-- ltp:begin -->\n<!-- ltp:end -->\n", encoding="utf-8")
    done = run("--ltp", planted, "--junit-xml", folder / "x.xml", "--markdown", document)
    assert done.returncode == 1, done.stderr
    told = sorted(line.strip().partition(": ")[2].partition(": ")[0]
                  for line in done.stdout.splitlines() if line.startswith("  different: "))
    everywhere = ("off", "auto", "coalesce")
    assert told == sorted([f"{name}, {mode}" for mode in everywhere
                           for name in ("loaded01", "worse01", "interfaces/aio_write/1-1.run-test")] +
                          ["buffer01, coalesce"])
    assert "flaky: once01, off: 1 failed: status 1; 13 passed. bare: 14 passed" in done.stdout
    text = document.read_text(encoding="utf-8")
    flowing = " ".join(text.split())
    assert all(words in flowing
               for words in ("Linux Test Project 20260101", "noise: noise01", "TFAIL: loaded"))
    assert [line for line in text.splitlines() if len(line) > 110 and " " in line.strip("- ")] == []
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines()
            if line.startswith("| LTP")]
    assert [row[:6] for row in rows] == [
        ["LTP syscalls", "6", "1 not here, 1 noise", "2 different, 1 flaky", "2 different", "3 different"],
        ["LTP POSIX", "2", "1 not here, 0 noise", "1 different", "1 different", "1 different"]]
    cases = xml.parse(folder / "x.xml").iter("testcase")
    failed = {case.get("name") for case in cases if case.find("failure") is not None}
    assert failed == set(everywhere)


def test_a_folder_that_is_no_test_project_is_refused(tmp_path):
    done = run("--ltp", tmp_path)
    assert done.returncode == 1
    assert "no installed Linux Test Project" in done.stderr
