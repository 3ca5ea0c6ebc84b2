# SPDX-License-Identifier: MIT
"""Tests of the tests: the harness finds each planted error, and it understands the output of strace."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import pytest

from harness import (BEGIN, AnsweringPeer, Peer, added, bare_env, compile_c, mode_env, preload_env, program,
                     run, run_client, run_directed, run_judged, run_strace, skip)
from harness.directed import LATE
from harness.selection import in_one_mode, part_of
from harness.shape import shape
from harness.strace import parse

pytestmark = pytest.mark.no_library

TESTS = Path(__file__).resolve().parents[1]


# ---- a cure that is not there is seen --------------------------------------

def failing(test, **environment):
    """Run a test of the suites in a runner of its own with the library exchanged; give its output."""
    env = bare_env()
    env.update({name: value for name, value in os.environ.items() if name.startswith("UNSTALL_")})
    env.update(environment, UNSTALL_TESTS_TRIES="1")  # a failure is wanted, also where the host is busy
    command = [sys.executable, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider", f"{TESTS}/{test}"]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=100)
    assert done.returncode == 1, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def idle_library(tmp_path_factory):
    """A library that loads under our name and does nothing."""
    folder = tmp_path_factory.mktemp("idle")
    (folder / "idle.c").write_text("int unstall_nothing;\n", encoding="utf-8")
    for name in ("libunstall.so", "libunstall-hook.so"):
        subprocess.run(["gcc", "-shared", "-fPIC", "-o", folder / name, folder / "idle.c"], check=True)
    return {"UNSTALL_LIB": str(folder / "libunstall.so"),
            "UNSTALL_HOOK_LIB": str(folder / "libunstall-hook.so")}


MUST_FAIL = (
    "preload/test_modes.py::test_the_stall_is_gone[put_write-auto]",
    "preload/test_modes.py::test_segments_of_a_turn[cork-1]",
    "preload/test_modes.py::test_cork_holds_every_small_write_and_pushes_once_a_turn[put_write]",
    "preload/test_modes.py::test_coalesce_makes_one_send_a_turn[put_write]",
    "preload/test_modes.py::test_auto_pushes_late_once_and_then_adds_no_call[put_write]",
    "preload/test_modes.py::test_nodelay_adds_one_setsockopt_before_the_second_write_and_nothing_else"
    "[put_write]",
    "preload/test_detection.py::test_client_is_cured[between_select-nodelay]",
    "preload/test_detection.py::test_client_is_detected[write_to_dup]",
    "preload/test_detection.py::test_server_is_cured[server_accept-auto]",
    "preload/test_options.py::test_choice_does_not_bring_the_stall_back[app_nodelay_zero-nodelay]",
    "preload/test_stdio.py::test_is_cured_in_order[stdio_two_files-auto]",
    "preload/test_config.py::test_bad_value_costs_one_line_and_nothing_else[UNSTALL_MODE-fast-auto]",
    "preload/test_config.py::test_report_at_every_end[auto-_exit]",
    "preload/test_stats_file_live.py::test_a_cure_begins_live[auto]",
    "abi/test_surface.py::test_every_written_name_is_exported_and_no_other",
)


@pytest.mark.parametrize("test", MUST_FAIL)
def test_fails_with_a_library_that_does_nothing(test, idle_library):
    assert "1 failed" in failing(test, **idle_library)


def test_fails_without_a_library(tmp_path):
    missing = {"UNSTALL_LIB": str(tmp_path / "libunstall.so"),
               "UNSTALL_HOOK_LIB": str(tmp_path / "libunstall.so")}
    assert "is missing" in failing("preload/test_modes.py::test_the_stall_is_there[put_write-bare]",
                                   **missing)


def test_off_where_a_cure_is_expected_is_seen():
    assert run_judged(program("put_write"), "off", 12).stalls


def test_a_library_that_is_not_loaded_is_seen():
    with AnsweringPeer() as peer, pytest.raises(AssertionError, match="loaded"):
        run_client(program("put_write"), "auto", *peer.target, 2, LD_PRELOAD="")


# ---- the peers -------------------------------------------------------------

def test_what_goes_wrong_in_a_peer_is_raised():
    def refuse(_connection):
        raise ValueError("not these bytes")

    with pytest.raises(ValueError, match="not these bytes"):
        with Peer(refuse) as peer:
            run([program("put_write"), *peer.target], bare_env(), check=False)


def test_a_program_that_fails_is_seen():
    with pytest.raises(AssertionError, match="ended with 99"):
        run([program("put_write"), "127.0.0.1", "1"], bare_env())


def test_a_program_that_hangs_is_ended():
    with pytest.raises(subprocess.TimeoutExpired):
        run(["/bin/sleep", "20"], bare_env(), timeout=0.2)


def test_a_program_that_does_not_compile_is_seen(tmp_path):
    source = tmp_path / "wrong.c"
    source.write_text("int main(void) { return nothing; }\n", encoding="utf-8")
    with pytest.raises(AssertionError, match="does not compile"):
        compile_c(source)


def test_a_compiler_that_removes_its_output_itself_is_quoted(tmp_path):
    """Newer linkers do, and "No such file" hid what they had said."""
    compiler = tmp_path / "compiler"
    compiler.write_text('#!/bin/sh\nfor word; do [ "$last" != -o ] || rm "$word"; last=$word; done\n'
                        'echo "nothing can be linked" >&2; exit 1\n', encoding="utf-8")
    compiler.chmod(0o755)
    source = tmp_path / "any.c"
    source.touch()
    with pytest.raises(AssertionError, match="nothing can be linked"):
        compile_c(source, cc=str(compiler))


# ---- strace ----------------------------------------------------------------

def test_strace_lines_are_understood():
    calls, pids = parse("\n".join((
        '7 write(3, ") = 5", 5)          = 5',
        "7 read(3,  <unfinished ...>",
        '8 close(4)                      = -1 EBADF (Bad file descriptor)',
        '7 <... read resumed>"abc", 10)  = 3',
        "7 --- SIGCHLD {si_signo=SIGCHLD} ---",
        '8 sendto(3, "x", 1, MSG_MORE, NULL, 0 <unfinished ...>',
        "7 exit_group(0)                 = ?",
        "8 <... sendto resumed>)         = 1",
        "7 +++ exited with 0 +++",
    )))
    assert pids == [7, 8]
    assert [(call.pid, call.name, call.fd, call.ret, call.errno) for call in calls] == [
        (7, "write", 3, 5, ""), (7, "read", 3, 3, ""), (8, "close", 4, -1, "EBADF"),
        (8, "sendto", 3, 1, ""), (7, "exit_group", 0, None, "")]
    assert calls[1].args == '3, "abc", 10' and calls[3].has("MSG_MORE")


def test_calls_of_32_bit_programs_have_the_names_of_64_bit_ones():
    calls, _ = parse("7 mmap2(NULL, 4096) = 0xf7000000\n7 ppoll_time64(NULL, 0) = 0\n"
                     "7 send(3, \"x\", 1, 0) = 1\n7 fcntl64(3, F_GETFL) = 2\n"
                     "7 pread64(3, 1) = 1\n7 prlimit64(0) = 0\n")
    assert [call.name for call in calls] == ["mmap", "ppoll", "sendto", "fcntl", "pread64", "prlimit64"]


def test_a_size_is_no_number_of_a_process():
    calls, _ = parse("7 mmap(NULL, 4096) = 0x1000\n7 wait4(4096, NULL) = 4096\n")
    assert [shape(call, [4096]) for call in calls] == ["mmap(NULL, 4096) = N", "wait4(PID0, NULL) = PID0"]


def test_added_lines():
    assert added(["a", "b"], ["a", "x", "b", "y"]) == ["x", "y"]
    assert added(["a", "b"], ["b", "a"]) is None
    assert added(["a"], []) is None


def test_marks_are_found():
    with AnsweringPeer() as peer:
        trace = run_strace([program("put_write"), *peer.target, 2], bare_env())
    assert [call.name for call in trace.after(1)][:3] == ["write", "write", "read"]
    assert [call.name for call in trace.after(BEGIN)] == ["socket", "connect"]
    with pytest.raises(AssertionError, match="no mark"):
        trace.after(77)


# ---- which cases run -------------------------------------------------------

@dataclass(frozen=True)
class Item:
    """The attributes that the selection looks at."""
    nodeid: str
    parameters: tuple = ()

    @property
    def callspec(self):
        return SimpleNamespace(params=dict(self.parameters))


def test_each_case_runs_in_one_mode_and_each_mode_has_its_turn():
    cases = [Item(f"test_a.py::test_it[{call}-{mode}]", (("call", call), ("mode", mode)))
             for call in ("write", "send", "writev") for mode in ("bare", "nodelay", "auto")]
    alone = [Item("test_a.py::test_alone"), Item("test_a.py::test_bare[bare]", (("mode", "bare"),))]
    assert [item.nodeid.split("::")[1] for item in in_one_mode(cases + alone)] == [
        "test_it[write-nodelay]", "test_it[send-auto]", "test_it[writev-nodelay]",
        "test_alone", "test_bare[bare]"]


@pytest.mark.parametrize("parts", [1, 2, 3, 7])
def test_the_parts_are_the_whole(parts):
    items = list(range(10))
    assert sum((part_of(items, f"{number}/{parts}") for number in range(1, parts + 1)), []) == items


# ---- environments and skips ------------------------------------------------

def test_environments():
    assert not [name for name in bare_env() if name.startswith("UNSTALL_")]
    assert "UNSTALL_MODE" not in preload_env() and "LD_PRELOAD" in preload_env()
    assert preload_env("cork", UNSTALL_WINDOW_US=500)["UNSTALL_WINDOW_US"] == "500"
    assert "LD_PRELOAD" not in mode_env("bare", UNSTALL_WINDOW_US=500)


@pytest.mark.parametrize("value, kind", [("1", "fail"), ("0", "skip")])
def test_skip_fails_where_all_must_run(value, kind, monkeypatch):
    monkeypatch.setenv("UNSTALL_TESTS_MUST_RUN", value)
    with pytest.raises(getattr(pytest, kind).Exception):
        skip("a reason")


# ---- a directed case that is only late is repeated -------------------------

@pytest.mark.parametrize("word, failures, runs, passes", [
    (LATE, 1, 2, True),   # late once: the machine's doing
    (LATE, 4, 5, True),
    (LATE, 9, 5, False),  # late each time
    ("", 1, 1, False),    # any other error fails at once
])
def test_a_directed_case_that_is_only_late_is_repeated(tmp_path, word, failures, runs, passes):
    log = tmp_path / "runs"
    script = (f'echo >>{log}; [ $(wc -l <{log}) -gt {failures} ] || '
              f'{{ echo "case: {word}200 bytes accepted, 0 arrived" >&2; exit 1; }}')
    wrong = run_directed("bare", "case", before=["sh", "-c", script])
    assert len(log.read_text().splitlines()) == runs
    assert (wrong is None) == passes


def test_the_harness_knows_the_word_of_a_late_case():
    assert f'"{LATE}"' in (TESTS / "torture/directed/directed.h").read_text(encoding="utf-8")

