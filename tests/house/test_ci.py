# SPDX-License-Identifier: MIT
"""The last line of .ci/run: nothing that went wrong in one of its steps may be missing from it; its
times; what clang-tidy need not read again."""

import json
import shutil
import subprocess

import pytest

from harness import SOURCE_ROOT, bare_env

pytestmark = pytest.mark.no_library

GOOD = {"test": "echo 5 passed, 0 failed", "releases": "echo 2 passed, 0 failed",
        "arch": "echo 3 passed, 0 failed", "tidy": "true"}

# A stand-in for a step -> the named failures, the last line.
EXPECTED = {
    "all well": ({}, [], "11 passed, 0 failed"),
    "a test": ({"test": "echo failed: one; echo 4 passed, 1 failed; exit 1"}, ["failed: one"],
               "10 passed, 1 failed"),
    "a skip": ({"test": "echo 5 passed, 0 failed, 1 skipped"}, ["failed: tests"], "6 passed, 1 failed"),
    "a release": ({"releases": "echo failed: trixie: one; echo 1 passed, 1 failed; exit 1"},
                  ["failed: trixie: one"], "10 passed, 1 failed"),
    "an architecture": ({"arch": "echo failed: arm64: auto; echo 2 passed, 1 failed; exit 1"},
                        ["failed: arm64: auto"], "10 passed, 1 failed"),
    "a test and an architecture": ({"test": "echo failed: one; echo 4 passed, 1 failed; exit 1",
                                    "arch": "echo failed: two; echo 1 passed, 2 failed; exit 1"},
                                   ["failed: one", "failed: two"], "8 passed, 3 failed"),
    "a compiler that does not come": ({"arch": "echo no package >&2; exit 1"}, ["failed: architectures"],
                                      "8 passed, 1 failed"),
    "an error behind a good sum": ({"arch": "echo 3 passed, 0 failed; exit 1"}, ["failed: architectures"],
                                   "11 passed, 1 failed"),
    "clang-tidy": ({"tidy": "echo a finding; exit 1"}, ["failed: clang-tidy"], "10 passed, 1 failed"),
}


@pytest.mark.parametrize("what", EXPECTED)
def test_the_last_line(what, tmp_path):
    steps, named, last = EXPECTED[what]
    for folder in (".ci", "scripts"):
        (tmp_path / folder).mkdir()
    shutil.copy(SOURCE_ROOT / ".ci/run", tmp_path / ".ci/run")
    for name, does in {**GOOD, **steps}.items():
        script = tmp_path / "scripts" / name
        script.write_text(f"#!/bin/bash\n{does}\n", encoding="utf-8")
        script.chmod(0o755)
    done = subprocess.run([tmp_path / ".ci/run"], env=bare_env(), check=False, capture_output=True, text=True,
                          timeout=60)
    lines = done.stdout.splitlines()
    assert lines[-1] == last
    assert lines[len(lines) - 1 - len(named):-1] == named
    assert (done.returncode == 0) is (named == [])


def test_its_time_is_told_by_step_and_suite(tmp_path):
    """As build/ci.md: of both logs of a folder, of each folder, with the cases inside a report."""
    (tmp_path / "scripts/lib").mkdir(parents=True)
    for name in ("ci-times.py", "count-cases.py"):
        shutil.copy(SOURCE_ROOT / "scripts/lib" / name, tmp_path / "scripts/lib")
    report = tmp_path / "report.xml"
    repeated = '<properties><property name="repeated" value="0.61"/></properties>'
    report.write_text(f'<testsuite><testcase name="a"/><testcase name="b">{repeated}</testcase></testsuite>')
    tests = {"build/meson-logs/testlog": [("unstall:cli / one", 2.4, ["p", f"--xml={report}"]),
                                          ("unstall:cli+unstarved / two", 0.2, ["p"])],
             "build/meson-logs/testlog-busy": [("unstall:house+busy / three", 7, ["p"])],
             "build-i386/meson-logs/testlog": [("unstall:abi / four", 3, ["p"])]}
    for log, its in tests.items():
        path = tmp_path / f"{log}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps({"name": name, "duration": seconds, "command": command,
                                            "result": "OK"}) + "\n" for name, seconds, command in its))
    (tmp_path / "build/reports").mkdir()
    (tmp_path / "build/reports/times").write_text("set-up 1\nbuild with gcc 60\n")
    (tmp_path / "times").write_text("tests 600\narchitectures 80\nall 681\n")
    said = subprocess.run([tmp_path / "scripts/lib/ci-times.py", tmp_path / "times"], check=True, text=True,
                          capture_output=True).stdout
    assert [line for line in said.splitlines() if line.startswith("| ")] == [
        "| step | | seconds |", "| all |  | 681 |", "| tests |  | 600 |", "| architectures |  | 80 |",
        "| of `scripts/test` | | seconds |", "| build with gcc |  | 60 |", "| set-up |  | 1 |",
        "| suite | cases | seconds |", "| house | 1 | 7 |", "| abi (i386) | 1 | 3 |", "| cli | 3 | 3 |"]


def test_clang_tidy_reads_a_file_again_only_if_something_that_it_reads_has_changed(tmp_path):
    """One header changed, and all 240 files were read again: five minutes of processor time."""
    def keys(root):
        build = root / "build"
        (build / "tidy").mkdir(parents=True, exist_ok=True)
        commands = [{"directory": str(build), "file": f"../src/{name}.c", "output": f"{name}.o",
                     "command": f"cc -I../src -c ../src/{name}.c"} for name in "ab"]
        (build / "compile_commands.json").write_text(json.dumps(commands))
        (build / "build.ninja").write_text(
            "rule cc\n  command = gcc -MD -MF $out.d -c $in -o $out\n  depfile = $out.d\n  deps = gcc\n" +
            "".join(f"build {name}.o: cc ../src/{name}.c\n" for name in "ab"))
        subprocess.run(["ninja", "-C", build], check=True, capture_output=True)
        subprocess.run([SOURCE_ROOT / "scripts/lib/tidy-keys.py", build, root, "version"], check=True)
        lines = (build / "tidy/keys").read_text().splitlines()
        return {path.rpartition("/")[2]: key for key, path in (line.split(" ") for line in lines)}

    roots = [tmp_path / "one", tmp_path / "two"]
    for root in roots:
        (root / "src").mkdir(parents=True)
        for name in "abc":  # c is not compiled
            (root / f"src/{name}.c").write_text(f'#include "{name}.h"\n')
            (root / f"src/{name}.h").write_text("")
    before, elsewhere = map(keys, roots)
    assert before == elsewhere and set(before) == {"a.c", "b.c", "c.c"}
    (roots[0] / "src/a.h").write_text("extern int changed;\n")
    after = keys(roots[0])
    assert {name for name in before if before[name] != after[name]} == {"a.c", "c.c"}
