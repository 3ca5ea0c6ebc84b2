# SPDX-License-Identifier: MIT
"""unstall status and doctor: what of unstall is in force on this machine, beyond units of systemd."""

import contextlib
import json
import os
import shlex
import shutil
import signal
import subprocess
import tempfile
import textwrap
from pathlib import Path

import pytest

from harness import (AS_NOBODY, COMMAND, LIB, AnsweringPeer, bare_env, command_of_everybody, need_root,
                     preload_env, run, spawned, unstall, wait_until)

PYTHON = ["/usr/bin/python3", "-S", "-c"]
BARE = ["env", "-u", "LD_PRELOAD"]  # the program below has no library: the supervisor alone cures it
SUPERVISED = [COMMAND, "run", "--how", "seccomp"]

# Writes 100 + 100 bytes and reads 200, so often; then waits.
CLIENT = """
import socket, sys, time
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
for _ in range(int(sys.argv[2])):
    s.sendall(b"x" * 100)
    s.sendall(b"x" * 100)
    got = 0
    while got < 200:
        got += len(s.recv(200))
print("done", flush=True)
time.sleep(300)
"""


@contextlib.contextmanager
def running(words, env=None, **popen):
    with spawned(words, env or bare_env(), stdout=subprocess.PIPE, **popen) as process:
        yield process


def status():
    return json.loads(unstall("status", "--json", check=False).stdout)


def told(pid):
    """The lines of `unstall status` about this process, without its title."""
    text = unstall("status", check=False).stdout
    blocks = textwrap.dedent(text).replace("\n    ", "\0").splitlines()
    return next((" ".join(block.replace("\0", " ").split()) for block in blocks
                 if f"(pid {pid})" in block or block.startswith(f"process {pid}\0")), None)


def one(kind, pid):
    return next((entry for entry in status()[kind] if pid in entry["pids"]), None)


def doctor(pid):
    done = unstall("doctor", "--json", pid, check=False)
    return done.returncode, json.loads(done.stdout)


# ---- under the supervisor --------------------------------------------------------

def of_no_statistics(entry):
    assert (entry["exchanges"], entry["stalls"], entry["verdict"]) == (None, None, None)


def test_a_supervised_run_is_told_and_doctor_proposes_no_second_cure():
    """The bug: doctor said that a preload cannot work here, and proposed unstall run and unstall attach."""
    with running([*SUPERVISED, *BARE, "sleep", "300"]) as program:
        assert wait_until(lambda: one("supervised", program.pid))
        said = told(program.pid)
        assert said.startswith(f"sleep (pid {program.pid}) run under the seccomp supervisor (process ")
        assert "TCP_NODELAY on each connection stalls not counted: no statistics" in said
        assert said.endswith("undo start it again without unstall run")
        of_no_statistics(one("supervised", program.pid))
        code, found = doctor(program.pid)
        assert code == 0 and found["verdict"] == "the supervisor of unstall run cures it already"
        assert found["process"]["supervised"] and not found["process"]["attached_unprivileged"]
        advice = " ".join(found["advice"] + found["remarks"])
        assert "undo it: start it again without unstall run" in advice and "ld.so" not in advice
        assert "unstall attach" not in advice and "unstall run --" not in advice
    assert wait_until(lambda: not one("supervised", program.pid))


@pytest.mark.parametrize("script", ['env -u LD_PRELOAD sleep 300 >&- & echo $!',
                                    'env -i sleep 300 >&- & echo $!; wait'],
                         ids=["its parent has ended", "its environment was cleared"])
def test_a_program_that_a_supervised_one_started_is_supervised(script):
    with running([*SUPERVISED, "sh", "-c", script]) as shell:
        child = int(shell.stdout.readline())
        try:
            assert wait_until(lambda: one("supervised", child))
            assert doctor(child)[1]["process"]["supervised"]
        finally:
            os.kill(child, signal.SIGKILL)


def test_the_variable_of_a_supervised_program_alone_makes_none():
    """It may have come by another way than by the start of a program."""
    with running([*SUPERVISED, "sh", "-c", "echo $_UNSTALL_SUPERVISOR; exec sleep 300"]) as shell:
        session = shell.stdout.readline().strip()
        with running(["sleep", "300"], bare_env(_UNSTALL_SUPERVISOR=session)) as other:
            assert not one("supervised", other.pid) and one("supervised", shell.pid)
            assert not doctor(other.pid)[1]["process"]["supervised"]


# ---- with the library ------------------------------------------------------------

@pytest.mark.parametrize("mode", ["observe", "auto", "off"])
def test_a_process_with_the_library_is_told_with_its_exchanges_and_stalls(mode):
    """A copy of Python: equal programs in one mode are told together, those of other tests too."""
    with AnsweringPeer(200) as peer, tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        python = shutil.copy(os.path.realpath(PYTHON[0]), f"{folder}/{Path(folder).name}")
        env = preload_env(UNSTALL_MODE=mode, UNSTALL_STATS=folder, PYTHONHOME="/usr")
        with running([python, *PYTHON[1:], CLIENT, peer.port, 20], env) as program:
            counted(program, mode)


def counted(program, mode):
    assert program.stdout.readline() == "done\n"
    entry = one("processes", program.pid)
    assert (entry["mode"], entry["exchanges"]) == (mode, 20)
    assert entry["stalls"] in {"observe": range(5, 21), "auto": range(1), "off": [None]}[mode]
    said = told(program.pid)
    shown = "?" if mode == "off" else entry["stalls"]
    assert f" mode {mode} seen 20 exchanges, {shown} stall" in said
    undo = "nothing is changed in mode off" if mode == "off" else f"unstall set {program.pid} off"
    assert f"undo {undo}; for good, start it again without the library" in said


def test_without_statistics_nothing_is_counted_and_it_says_so():
    with running(["sleep", "300"], preload_env(UNSTALL_MODE="cork")) as program:
        assert wait_until(lambda: one("processes", program.pid))
        of_no_statistics(one("processes", program.pid))
        said = told(program.pid)
        assert "mode cork stalls not counted: no statistics undo start it again without the library" in said
        assert "seen" not in said


def test_equal_programs_are_told_together():
    script = "sleep 300 & sleep 300 & sleep 300 & sleep 300 & sleep 300 & echo; wait"
    env = preload_env(UNSTALL_MODE="coalesce", UNSTALL_SMALL="77")
    with running(["sh", "-c", script], env, start_new_session=True) as shell:
        try:
            shell.stdout.readline()
            entry = wait_until(lambda: next((e for e in status()["processes"] if e["program"] == "sleep"
                                             and e["mode"] == "coalesce" and len(e["pids"]) >= 5), None))
            assert entry
        finally:
            os.killpg(shell.pid, signal.SIGKILL)


# ---- attached without privilege ----------------------------------------------------

def test_an_attachment_without_privilege_is_told_and_doctor_knows_it():
    user = AS_NOBODY if os.geteuid() == 0 else {}
    with command_of_everybody() as command, running(["sleep", "300"], **user) as program, \
            running([command, "attach", program.pid], stderr=subprocess.PIPE, **user) as attach:
        assert "by pidfd_getfd" in attach.stderr.readline()
        found = [e for e in status()["attached_unprivileged"] if e["pid"] == program.pid]
        assert [e["command"] for e in found] == [attach.pid]
        said = told(program.pid)
        assert said.startswith(f"process {program.pid} attached without privilege (pidfd_getfd), since ")
        assert said.endswith(f"undo Ctrl-C in that unstall attach, or kill {attach.pid}")
        code, answer = doctor(program.pid)
        assert code == 0 and answer["process"]["attached_unprivileged"]
        assert answer["verdict"] == "unstall attach cures it already"
        assert not any("unstall attach " in advice for advice in answer["advice"])


# ---- the whole --------------------------------------------------------------------

def in_own_world(script):
    """Runs it as the only program of a machine on which nothing is attached."""
    need_root("makes namespaces")
    words = ["unshare", "-mpf", "--mount-proc", "sh", "-c",
             "mount -t tmpfs none /sys/fs/bpf 2>/dev/null; "
             f"unstall() {{ {shlex.quote(str(COMMAND))} \"$@\"; }}; {script}"]
    return run(words, bare_env(), check=False)


def test_where_nothing_is_cured_it_says_so_within_80_columns():
    done = in_own_world("unstall status")
    assert (done.returncode, done.stderr) == (0, "")
    said = " ".join(done.stdout.split())
    assert said == ("nothing is cured here by unstall: no drop-in, no process with the library, no run under "
                    "the supervisor, no attachment")
    assert all(len(line) <= 80 for line in done.stdout.splitlines())


def test_each_line_is_within_80_columns():
    start = f"LD_PRELOAD={shlex.quote(str(LIB))} sleep 300 & unstall run --how seccomp sleep 300 & sleep 1; "
    lines = in_own_world(start + "unstall status").stdout.splitlines()
    assert sum(line.startswith("sleep (pid") for line in lines) == 2
    assert all(len(line) <= 80 for line in lines)


def test_a_user_sees_his_own_and_is_told_of_those_that_he_may_not_see():
    need_root("can be two users")
    with command_of_everybody() as command, \
            running(["sleep", "300"], preload_env(UNSTALL_MODE="cork")) as roots, \
            running(["sleep", "300"], preload_env(UNSTALL_MODE="nodelay"), **AS_NOBODY) as own, \
            running([*SUPERVISED, "sleep", "300"]) as run_of_root:
        assert wait_until(lambda: one("supervised", run_of_root.pid))
        found = json.loads(run([command, "status", "--json"], bare_env(), check=False, **AS_NOBODY).stdout)
        seen = [pid for entry in found["processes"] for pid in entry["pids"]]
        assert own.pid in seen and roots.pid not in seen and found["not_inspected"] > 1
        assert any(entry["pids"] == [] for entry in found["supervised"])
        text = run([command, "status"], bare_env(), check=False, **AS_NOBODY).stdout
        assert text.endswith("processes may not be inspected, and may be cured too; root sees all\n")
        assert "its processes may not be inspected; run this as root" in " ".join(text.split())


def test_doctor_of_a_process_that_nothing_cures_says_nothing_of_a_cure():
    with running(["sleep", "300"]) as program:
        found = doctor(program.pid)[1]
        assert found["verdict"].startswith("runs without the library")
        assert not found["process"]["supervised"] and not found["process"]["attached_unprivileged"]
