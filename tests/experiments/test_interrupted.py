# SPDX-License-Identifier: MIT
"""Interrupted, crashed, no room: the measurements are kept and reported, nothing runs on, the exit code
says so."""

import fcntl
import os
import signal
import subprocess
import termios
import time

import pytest
from trial import ab, alive, begun, answering, client, measured, server_command

from harness import COMMAND, SOURCE_ROOT, bare_env, free_port, run, wait_for


def rounds_in(path):
    """How many rounds the file has by now."""
    return len(measured(path)["units"]) // 2 if path.exists() else 0


@pytest.mark.parametrize("number, code", [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_ends_it_with_what_was_measured(number, code, tmp_path):
    path, marker = tmp_path / "r.json", f"4{free_port()}"
    with answering() as port:
        command = ["sh", "-c", f"sleep 0.1{marker} & exec " + " ".join(client(port, 4))]
        child = begun("--arms", "off,auto", "--rounds", 1000, "--json", path, "--", *command,
                      preexec_fn=lambda: signal.signal(number, signal.SIG_DFL))  # nohup(1) ignores SIGHUP
        wait_for(lambda: rounds_in(path) >= 2, 40)
        child.send_signal(number)
        out, err = child.communicate(timeout=30)
    assert child.returncode == code, err
    assert "Interrupted: the results up to then." in out
    value = measured(path)
    assert value["ending"] == "interrupted" and len(value["units"]) >= 4 and value["analysis"]
    assert alive(f"0.1{marker}") == [] and alive(str(port)) == []
    assert "Traceback" not in err


def test_a_closed_terminal_ends_it_with_the_report(tmp_path):
    """The progress bar could not be drawn any more: exit code 120, no report, no page."""
    path, text, page = (tmp_path / name for name in ("r.json", "r.txt", "r.html"))
    ours, its = os.openpty()
    with answering() as port, open(text, "w", encoding="utf-8") as out:
        child = subprocess.Popen(
            ["setsid", "--ctty", COMMAND, "ab", "--arms", "off,auto", "--rounds", "1000", "--json", path,
             "--html", page, "--", *client(port, 4)], env=bare_env(), stdin=its, stdout=out, stderr=its,
            preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL))
        os.close(its)
        wait_for(lambda: rounds_in(path) >= 2, 40)
        os.close(ours)
        assert child.wait(30) == 129
    assert "Interrupted: the results up to then." in text.read_text("utf-8")
    assert measured(path)["analysis"] and page.exists()


AT_ONCE = """
import os, signal
from experiment import processes
processes.catch_signals()
signal.pthread_sigmask(signal.SIG_BLOCK, processes.STOPPING)
for number in processes.STOPPING:
    signal.raise_signal(number)
signal.pthread_sigmask(signal.SIG_UNBLOCK, processes.STOPPING)
itself = os.pidfd_open(os.getpid())
for _ in range(2):
    try:
        print(processes.wait_for(itself, 0))
    except processes.Interrupted:
        print("one")  # the next wait looks at the others
"""


def with_the_analysis(text, *words, **options):
    """A program of Python that imports parts of the command."""
    return run(["/usr/bin/python3", "-c", text, *words], bare_env(PYTHONPATH=SOURCE_ROOT / "src/analysis"),
               **options)


def test_of_signals_that_come_at_once_one_counts():
    """Python said that it ignored the others, "due to race condition", with a traceback."""
    done = with_the_analysis(AT_ONCE)
    assert (done.stdout, done.stderr) == ("one\nFalse\n", "")


IN_A_DESTRUCTOR = """
import os, signal
from experiment import processes

class Freed:
    def __del__(self):
        signal.raise_signal(signal.SIGINT)

processes.catch_signals()
try:
    with processes.Program(["sleep", "60"], dict(os.environ)) as program:
        Freed()
        program.ended(30)
except processes.Interrupted as interrupted:
    print(interrupted)
"""


def test_a_signal_in_a_destructor_counts():
    """Python printed that it ignored the exception, and the experiment went on to its end."""
    done = with_the_analysis(IN_A_DESTRUCTOR)
    assert (done.stdout, done.stderr) == ("SIGINT\n", "")


def test_a_second_signal_does_not_break_the_report(tmp_path):
    path = tmp_path / "r.json"
    with answering() as port:
        child = begun("--arms", "bare,off", "--rounds", 1000, "--json", path, "--", *client(port, 2, "one"))
        wait_for(lambda: rounds_in(path) >= 2, 40)
        for number in (signal.SIGINT, signal.SIGINT, signal.SIGTERM, signal.SIGINT):
            child.send_signal(number)
            time.sleep(0.02)
        out, err = child.communicate(timeout=30)
    assert child.returncode == 130, err
    assert "Interrupted" in out and "Traceback" not in err


def test_a_crash_of_the_program_ends_it_with_what_was_measured(tmp_path):
    """The ninth run is ended by a signal."""
    count = tmp_path / "count"
    crash = f'echo x >> {count}; [ $(wc -l < {count}) -lt 9 ] || kill -SEGV $$'
    done = ab("--arms", "bare,off", "--rounds", 20, "--warmup", 0, "--json", tmp_path / "r.json", "--",
              "sh", "-c", crash)
    assert done.returncode == 3
    assert "was ended by SIGSEGV" in done.stdout and "4 rounds of 2 arms" in done.stdout
    value = measured(tmp_path / "r.json")
    assert value["ending"] == "failed" and len(value["units"]) == 8


@pytest.mark.parametrize("script, said", [
    ("kill -40 $$", ["was ended by signal 40"]),  # Python has no name for it, and there was a traceback
    ("echo 'no such host' >&2; exit 7", ["ended with exit code 7", "| no such host"]),
])
def test_the_end_of_a_failing_program_is_told_and_its_words_are_quoted(script, said):
    done = ab("--arms", "bare,off", "--", "sh", "-c", script)
    assert done.returncode == 3 and all(words in done.stderr for words in said), done.stderr


def test_failures_can_be_ignored(tmp_path):
    """A round with a failed run has no pair; the others count."""
    count = tmp_path / "count"
    fail = f'echo x >> {count}; [ $(wc -l < {count}) -ne 5 ]'
    done = ab("--arms", "bare,off", "--rounds", 6, "--warmup", 0, "--ignore-failure",
              "--json", tmp_path / "r.json", "--", "sh", "-c", fail)
    assert done.returncode in (0, 2), done.stderr
    value = measured(tmp_path / "r.json")
    assert len(value["failures"]) == 1 and len(value["units"]) == 11
    assert "5 rounds of 2 arms" in done.stdout


def test_a_run_that_does_not_end_is_stopped():
    marker = f"5{free_port()}"
    done = ab("--arms", "bare,off", "--timeout", 1, "--", "sleep", marker)
    assert done.returncode == 3 and "not ended after 1 s" in done.stderr
    assert alive(marker) == []


def test_a_run_that_was_stopped_is_ended_too(tmp_path):
    """A signal that ends it waits until it goes on."""
    told = tmp_path / "told"
    done = ab("--arms", "bare,off", "--timeout", 3, "--", "sh", "-c",
              f"trap 'echo ended > {told}; exit' TERM; kill -STOP $$")
    assert done.returncode == 3 and "not ended after 3 s" in done.stderr
    assert told.read_text(encoding="utf-8") == "ended\n"


@pytest.mark.parametrize("program, signal_name", [
    (["sh", "-c", "read word </dev/tty"], "SIGTTIN"), (["sh", "-c", "stty -echo </dev/tty"], "SIGTTOU")])
def test_a_program_that_asks_for_the_terminal_is_told(program, signal_name):
    """The kernel stops it, as any program in the background, and the round did not end."""
    master, terminal = os.openpty()
    try:
        done = run([COMMAND, "ab", "--arms", "bare,off", "--", *program], bare_env(), check=False,
                   start_new_session=True, preexec_fn=lambda: fcntl.ioctl(terminal, termios.TIOCSCTTY, 0))
    finally:
        os.close(terminal)
        os.close(master)
    assert done.returncode == 3, done.stderr
    assert f"sh: was stopped by {signal_name}, because it asks for the terminal" in done.stderr


BEFORE_A_LOOK = """
import os
from experiment import processes
wait_for = processes.wait_for

def too_short(fd, seconds):
    wait_for(fd, 60)
    processes.wait_for = wait_for
    return False
processes.wait_for = too_short
print(processes.run(["true"], dict(os.environ)).status)
"""


def test_a_program_may_end_just_before_a_look_whether_it_was_stopped():
    """The command failed: No child processes."""
    done = with_the_analysis(BEFORE_A_LOOK)
    assert (done.stdout, done.stderr) == ("0\n", "")


@pytest.mark.parametrize("words, code", [(["nosuchprogram"], 127), ([""], 127), (["/etc/passwd"], 126)])
def test_what_cannot_be_run(words, code):
    done = ab(*words)
    assert done.returncode == code
    assert done.stderr.startswith(f"unstall ab: {words[0]}: ")


def test_a_full_disk_ends_nothing_and_is_told():
    done = ab("--arms", "bare,off", "--rounds", 8, "--json", "/dev/full", "--", "true")
    assert done.returncode in (4, 2)
    assert "--json /dev/full: No space left on device" in done.stderr
    assert "8 rounds of 2 arms" in done.stdout


def test_a_full_disk_at_the_last_moment_is_told_too():
    with open("/dev/full", "w", encoding="utf-8") as full:
        child = subprocess.run([COMMAND, "ab", "--arms", "bare,off", "--rounds", "1", "--html", "/dev/full",
                                "true"],
                               env=bare_env(), stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert "--html /dev/full: No space left on device" in child.stderr
    assert "standard output: No space left on device" in child.stderr
    assert child.returncode == 4 and "Traceback" not in child.stderr


def test_the_reader_of_the_report_may_go_away():
    child = begun("--arms", "bare,off", "--rounds", 1, "true")
    child.stdout.close()
    assert "Traceback" not in child.stderr.read()
    child.wait(30)
    child.stderr.close()


def test_a_server_that_does_not_start_is_quoted():
    port = free_port()
    done = ab("--server", "sh -c 'echo cannot >&2; exit 4'", "--ready", port, "--", "true")
    assert done.returncode == 3
    assert f"ended with exit code 4 before it listened on port {port}" in done.stderr
    assert "cannot" in done.stderr


def test_a_port_that_is_taken_is_told():
    with answering() as port:
        done = ab("--server", " ".join(server_command(port)), "--ready", port, "--", "true")
    assert done.returncode == 3 and f"port {port}: another program listens there" in done.stderr


def test_the_load_fails_and_the_server_is_stopped():
    port = free_port()
    done = ab("--server", " ".join(server_command(port)), "--ready", port, "--arms", "bare,off", "--",
              "false")
    assert done.returncode == 3 and "false: ended with exit code 1" in done.stderr
    assert alive(str(port)) == []


@pytest.mark.parametrize("program", [["sleep", "{}"], ["sh", "-c", "sleep {} & wait"]], ids=["it", "a child"])
def test_killed_outright_its_programs_die_with_it(program):
    """The parent-death signal is the program's alone: what a shell had started ran on."""
    marker = f"6{free_port()}"
    child = begun("--arms", "bare,off", "--", *(word.format(marker) for word in program))
    wait_for(lambda: [pid for pid in alive(marker) if pid != child.pid])
    child.kill()
    child.communicate()
    wait_for(lambda: not alive(marker))


KILLED_EARLY = """
import os, signal, sys
from experiment import processes

setpgid = os.setpgid

def killed(*words):
    setpgid(*words)
    parent = os.getppid()
    os.kill(parent, signal.SIGKILL)
    while os.getppid() == parent:
        pass

os.setpgid = killed  # the forked child calls it before it asks for the parent-death signal
processes.run(["sleep", sys.argv[1]], dict(os.environ))
"""


def test_killed_outright_before_the_program_has_its_parent_death_signal():
    """The kernel sends it only for a death that comes later; the program ran on."""
    marker = f"6{free_port()}"
    done = with_the_analysis(KILLED_EARLY, marker, check=False)
    assert done.returncode == -signal.SIGKILL
    wait_for(lambda: not alive(marker))


SIGNALLED_AT = """
import os, select, signal, sys, threading, time
from experiment import processes

threading.Thread(target=time.sleep, args=(60,), daemon=True).start()  # numpy has threads too
name, function = sys.argv[1], getattr(os, sys.argv[1])

def signalled(*words):
    setattr(os, name, function)
    result = function(*words)
    os.kill(os.getpid(), signal.SIGINT)
    select.select([processes._Asked.pipe], [], [])  # one of the threads has got it
    return result

processes.catch_signals()
processes.GRACE_S = 1
setattr(os, name, signalled)
try:
    with processes.Program(sys.argv[2:], dict(os.environ)) as program:
        program.ended(1)
    processes.run(["sleep", "60"], dict(os.environ))  # the next one
except processes.Interrupted:
    print("interrupted")
"""


@pytest.mark.parametrize("call, program", [
    ("pidfd_open", "sleep {} & wait"),                       # it has just been started
    ("wait4", "setsid sleep {} &"),                          # it has ended
    ("killpg", "trap '' TERM; sleep {} & wait; sleep {}"),   # it is to end
])
def test_a_signal_in_the_middle_of_starting_or_ending_a_program_leaves_no_process(call, program):
    marker = f"7{free_port()}"
    done = with_the_analysis(SIGNALLED_AT, call, "sh", "-c", program.replace("{}", marker))
    left = alive(marker)
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert (left, done.stdout, done.stderr) == ([], "interrupted\n", "")


STOPPED_AT_ITS_END = """
import os, runpy, signal, sys

class Last:
    def __del__(self, kill=os.kill, pid=os.getpid(), number=signal.SIGTERM):
        kill(pid, number)

last = Last()  # Python frees it after it has given the signals their default back
runpy.run_path(sys.argv.pop(1), run_name="__main__")
"""


def test_a_signal_at_the_last_moment_does_not_change_the_exit_code():
    """A second Ctrl-C, while Python ended, did."""
    done = run(["/usr/bin/python3", "-B", "-c", STOPPED_AT_ITS_END, SOURCE_ROOT / "src/analysis", "--unstall",
                COMMAND, "--arms", "bare,off", "--rounds", "1", "--quiet", "true"], bare_env(), check=False)
    assert done.returncode == 2, done.stderr


@pytest.mark.parametrize("closed, code, out, err", [
    (">&-", 4, "", "unstall ab: standard output: Bad file descriptor\n"),
    ("2>&-", 2, "Not enough data", ""),
    ("<&-", 2, "Not enough data", "")])
def test_a_closed_standard_file(closed, code, out, err):
    """It ended with a traceback, and an experiment's file could have had its number."""
    with answering() as port:
        words = [COMMAND, "ab", "--arms", "off,auto", "--rounds", "2", "--", *client(port, 3)]
        done = run(["sh", "-c", f'exec "$@" {closed}', "sh", *words], bare_env(), check=False, timeout=60)
    assert (done.returncode, done.stderr) == (code, err)
    assert out in done.stdout
