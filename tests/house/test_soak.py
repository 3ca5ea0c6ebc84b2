# SPDX-License-Identifier: MIT
"""scripts/soak counts its runs, keeps the logs of failures, goes on where it ended, and
leaves no load behind."""

import os
import signal
import subprocess

import pytest

from harness import SOURCE_ROOT, wait_for

pytestmark = pytest.mark.no_library

SOAK = SOURCE_ROOT / "scripts/soak"

# Stands for scripts/test: fails in its third run, and notes each one.  It waits until its load has begun.
TEST = """#!/bin/sh
for i in $(seq 1000); do
    ! kill -0 "$(tail -n 1 {load} 2>/dev/null)" 2>/dev/null || break
    sleep 0.01
done
echo "$@" >> {notes}
echo some output
[ $(wc -l < {notes}) != 3 ] || {{ echo "failed: suite::case[auto]"; echo "6 passed, 1 failed"; exit 1; }}
echo "7 passed, 0 failed"
"""
# Stands for stress-ng: notes its process, and waits for its end.
LOAD = """#!/bin/sh
echo $$ >> {load}
exec sleep 1000
"""


@pytest.fixture(name="soak")
def fixture_soak(tmp_path):
    """Gives a function that runs scripts/soak with stand-ins for its commands."""
    for name, text in (("test", TEST), ("load", LOAD)):
        (tmp_path / f"{name}.sh").write_text(text.format(notes=tmp_path / "notes", load=tmp_path / "load"),
                                             encoding="utf-8")
        (tmp_path / f"{name}.sh").chmod(0o755)
    for name in ("meson-logs/testlog.txt", "meson-logs/testlog-busy.txt", "reports/unit.xml"):
        (tmp_path / "build" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "build" / name).write_text(name, encoding="ascii")
    env = {**os.environ, "UNSTALL_SOAK_TEST": str(tmp_path / "test.sh"),
           "UNSTALL_SOAK_LOAD": str(tmp_path / "load.sh"), "UNSTALL_SOAK_BUILD": str(tmp_path / "build")}

    def run(*words, start=subprocess.run, **variables):
        limits = {"check": False, "timeout": 60} if start is subprocess.run else {}
        return start([SOAK, *words, "--folder", tmp_path / "kept"], env={**env, **variables}, text=True,
                     stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **limits)

    return run


def loads(tmp_path):
    """The processes of the load that still run."""
    told = tmp_path / "load"
    started = told.read_text(encoding="ascii").split() if told.exists() else []  # ended before it has begun
    return started, [pid for pid in started if os.path.exists(f"/proc/{pid}")]


def test_a_case_that_fails_once_is_told_and_its_log_kept(soak, tmp_path):
    done = soak("4")
    assert done.returncode == 1 and done.stderr == ""
    assert "4 runs, 1 failed" in done.stdout and "1 failed: suite::case[auto]" in done.stdout
    assert [path.name for path in sorted((tmp_path / "kept").iterdir()) if path.is_dir()] == ["3"]
    assert "some output" in (tmp_path / "kept/3/log").read_text(encoding="utf-8")
    for name in ("testlog.txt", "testlog-busy.txt", "reports/unit.xml"):
        assert (tmp_path / "kept/3" / name).is_file(), name
    started, running = loads(tmp_path)
    assert len(started) == 1 and running == []


def test_the_next_call_goes_on(soak, tmp_path):
    assert soak("1", "--suite", "unit").returncode == 0
    assert "2 runs, 0 failed" in soak("2", "--suite", "unit").stdout
    assert (tmp_path / "notes").read_text(encoding="ascii") == "unit\n" * 2
    assert "2 runs, 0 failed" in soak("2", "--suite", "unit").stdout, "nothing is left to do"
    assert len(loads(tmp_path)[0]) == 2
    assert "runs of other suites: unit" in soak("3").stderr
    assert "1 runs, 1 failed" in soak("1", "--fresh").stdout, "the third run of all"


def test_it_goes_on_from_a_table(soak, tmp_path):
    page = tmp_path / "page.md"
    page.write_text(f"# The soak\n```\n{soak('1').stdout}```\n", encoding="utf-8")
    assert "1 runs, 0 failed" in page.read_text(encoding="utf-8")
    assert "runs already" in soak("2", "--go-on", page).stderr
    assert "no runs of suites: unit" in soak("2", "--go-on", page, "--suite", "unit", "--fresh").stderr
    done = soak("2", "--go-on", page, "--fresh")
    assert "2 runs, 0 failed" in done.stdout and "run 1" not in done.stderr + done.stdout
    page.write_text("suites: all; beside nothing\nnot run yet\n", encoding="utf-8")
    assert "has no runs" in soak("2", "--go-on", page, "--fresh").stderr


def test_a_run_that_hangs_is_ended_and_has_failed(soak, tmp_path):
    done = soak("1", UNSTALL_SOAK_TEST="sleep 1000", UNSTALL_SOAK_LIMIT="1")
    assert done.returncode == 1 and "did not end by itself" in done.stdout
    assert loads(tmp_path)[1] == []


def test_when_it_is_ended_so_is_what_it_started(soak, tmp_path):
    (tmp_path / "test.sh").write_text(LOAD.format(load=tmp_path / "load"), encoding="ascii")
    with soak("1", start=subprocess.Popen) as child:
        wait_for(lambda: len(loads(tmp_path)[0]) >= 2)
        child.send_signal(signal.SIGTERM)
        assert child.wait(30) == 143
    assert loads(tmp_path)[1] == []


# Stands for scripts/test beside a load that ends: waits until the shell has seen that end.
UNTIL_IT_HAS_ENDED = """#!/bin/sh
until [ -s {load} ] && ! kill -0 "$(cat {load})" 2>/dev/null; do sleep 0.01; done
"""


def test_without_its_load_it_says_so(soak, tmp_path):
    (tmp_path / "test.sh").write_text(UNTIL_IT_HAS_ENDED.format(load=tmp_path / "load"), encoding="ascii")
    (tmp_path / "load.sh").write_text(f"#!/bin/sh\necho $$ >>{tmp_path}/load\n", encoding="ascii")
    done = soak("2")
    assert done.returncode == 1 and "nothing keeps the machine busy" in done.stderr


@pytest.mark.parametrize("words", [["none"], ["0"], ["--minutes", "soon"]])
def test_what_is_no_number_is_refused(soak, words):
    done = soak(*words)
    assert done.returncode == 1 and "number" in done.stderr
