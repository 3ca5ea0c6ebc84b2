# SPDX-License-Identifier: MIT
"""unstall run --how bpf: a program in a cgroup of its own, cured by the BPF programs of attach."""

import contextlib
import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from harness import COMMAND, bare_env, compile_c, run, unstall
from talkers import (KINDS, NOBODY, TRIES, alone, cgroup_mount, is_cured, nothing_pinned, pinned, stalls,
                     talking, wait_until)

HERE = Path(__file__).parent
UNDER = [COMMAND, "run", "--how", "bpf"]
PYTHON = ["/usr/bin/python3", "-S", "-c"]


def folders():
    # not by rglob(), which fails where a folder goes meanwhile
    return [Path(folder) / name for folder, names, _ in os.walk(cgroup_mount()) for name in names
            if name.startswith("unstall-run-")]


def all_is_gone():
    return not folders() and not pinned()


@pytest.fixture(autouse=True)
def nothing_stays():
    """No cgroup either."""
    with alone():
        for _ in nothing_pinned():
            assert not folders()
            yield
            gone = wait_until(all_is_gone, 20)
        assert gone


def guard_of(pid):
    """The process that keeps the cgroup of this one."""
    for status in Path("/proc").glob("[0-9]*/comm"):
        with contextlib.suppress(OSError):
            folder = status.parent
            if status.read_text("utf-8") == "unstall-cgroup\n":
                events = os.readlink(folder / "fd/3")
                if events.endswith(f"/unstall-run-{pid}/cgroup.events"):
                    return int(folder.name)
    return None


# ---- the cure -----------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_is_cured_from_its_start_and_reads_back_its_own_value(kind):
    with talking(kind) as talker:
        assert stalls(talker)
    with talking(kind, under=UNDER) as talker:
        assert is_cured(talker)
        talker.say("new")
        assert is_cured(talker)
        assert talker.reads_back() <= {0, -1}


@pytest.mark.parametrize("kind", ["plain", "static, raw calls"])
def test_a_tree_of_both_kinds_gets_both(kind):
    """A shell, which the preload reaches, starts a program that it reaches, and one that it does not."""
    shell = [*UNDER, "sh", "-c", 'test -n "$LD_PRELOAD" && exec "$0" "$@"']
    with talking(kind, under=shell) as talker:
        assert is_cured(talker)
        assert talker.reads_back() == {0}


def test_nodelay_late_is_mode_late():
    words = [*UNDER, "--nodelay", "late", "sh", "-c", f"{COMMAND} attach --list"]
    assert "mode late" in run(words, bare_env()).stdout
    with talking("static, raw calls", under=[*UNDER, "--nodelay", "late"]) as talker:
        assert is_cured(talker)


# ---- the program's own --------------------------------------------------------------


def test_exit_code_signal_process_and_children_are_the_programs_own():
    words = ("import os; print(os.getpid(), os.getppid(), os.getsid(0), os.getpgid(0), flush=True)\n"
             "try: os.wait()\nexcept ChildProcessError: os.kill(os.getpid(), 9)")
    program = subprocess.Popen([*UNDER, *PYTHON, words], env=bare_env(), stdout=subprocess.PIPE, text=True)
    told = program.communicate(timeout=60)[0].split()
    assert told == [str(n) for n in (program.pid, os.getpid(), os.getsid(0), os.getpgid(0))]
    assert program.returncode == -signal.SIGKILL
    assert run([*UNDER, "sh", "-c", "exit 42"], bare_env(), check=False).returncode == 42


def test_it_stops_and_goes_on_as_the_shell_says():
    with talking(under=UNDER) as talker:
        assert is_cured(talker)
        os.kill(talker.pid, signal.SIGSTOP)
        state = Path(f"/proc/{talker.pid}/stat")
        assert wait_until(lambda: state.read_text("utf-8").rsplit(")", 1)[1].split()[0] == "T")
        os.kill(talker.pid, signal.SIGCONT)
        assert is_cured(talker)


# ---- the end ------------------------------------------------------------------------


def test_the_cgroup_stays_until_the_last_process_has_ended():
    words = [*UNDER, "sh", "-c", "sleep 300 >/dev/null 2>&1 & echo $!"]
    child = int(run(words, bare_env()).stdout)
    assert wait_until(lambda: folders() and guard_of(folders()[0].name.rsplit("-", 1)[1]))
    time.sleep(0.1)
    assert folders()
    os.kill(child, signal.SIGKILL)
    assert wait_until(all_is_gone)


def test_a_guard_that_was_killed_is_named_and_detach_removes_its_cgroup():
    with talking("static, raw calls", under=UNDER) as talker:
        assert is_cured(talker)
        assert wait_until(lambda: guard_of(talker.pid))
        os.kill(guard_of(talker.pid), signal.SIGKILL)
        assert is_cured(talker)
        assert wait_until(lambda: "its guard was killed" in unstall("attach", "--list").stdout)
        assert f"run of process {talker.pid}, mode always" in unstall("attach", "--list").stdout
        done = unstall("detach", f"run-{talker.pid}")
        assert (done.returncode, done.stderr) == (0, "")
        assert not folders()
        assert stalls(talker) and talker.reads_back() == {0}


def test_detach_ends_it_while_the_program_runs_on():
    with talking(under=UNDER, env=bare_env(UNSTALL_MODE="nodelay")) as talker:
        assert is_cured(talker)
        assert wait_until(lambda: guard_of(talker.pid))
        guard = guard_of(talker.pid)
        unstall("detach", f"run-{talker.pid}")
        assert wait_until(lambda: not Path(f"/proc/{guard}").exists() and not folders())
        assert is_cured(talker)  # by the library


def test_a_cgroup_that_the_program_made_itself_stays_and_is_named():
    script = f"mkdir {cgroup_mount()}/unstall-run-$$/own; read -r told"
    with subprocess.Popen([*UNDER, "sh", "-c", script], env=bare_env(), stdin=subprocess.PIPE) as program:
        pid = program.pid
        folder, name = cgroup_mount() / f"unstall-run-{pid}", f"run-{pid}"
        assert wait_until(lambda: (folder / "own").exists() and guard_of(pid))
    assert wait_until(lambda: not guard_of(pid))  # a guard that begins later would remove the cgroup itself
    done = unstall("detach", name)
    assert done.returncode == 125 and f"{folder}: the cgroup stays (" in done.stderr
    assert name in unstall("attach", "--list").stdout
    (folder / "own").rmdir()
    assert unstall("detach", name).returncode == 0


def test_killed_at_any_moment_of_its_start_nothing_stays():
    for ms in range(0, 100, 10):
        with subprocess.Popen([*UNDER, "sleep", "300"], env=bare_env()) as command:
            time.sleep(ms / 1000)
            command.kill()
        assert wait_until(all_is_gone)


def test_a_stop_of_the_whole_unit_in_the_middle_of_its_start_leaves_nothing():
    """systemd sends SIGTERM to all processes of the unit, the guard among them."""
    shim = compile_c(HERE / "programs/told_at_mkdir.c", "-shared", "-fPIC")
    done = unstall("run", "--how", "bpf", "sleep", "30", env=bare_env(LD_PRELOAD=shim))
    assert done.returncode == -signal.SIGTERM
    assert wait_until(all_is_gone, 20)


# ---- the choice ----------------------------------------------------------------------


def said(*words, env=None):
    binary = KINDS["static, raw calls"]()
    return run([*words, "--verbose", "1", binary, "connect", "1"], env or bare_env(), check=False).stderr


def test_one_port_is_what_the_supervisor_cannot_obey():
    """The other connection keeps its stall."""
    why = r"statically linked.*; it runs in a cgroup of its own \(run-\d+\), where BPF programs"
    assert re.search(why, said(COMMAND, "run", "--ports", "1"))
    for _ in range(TRIES):
        with talking("static, raw calls", under=[COMMAND, "run", "--ports", "1"]) as talker:
            if stalls(talker):
                return
    raise AssertionError("a connection with another port is cured")


def test_it_takes_the_place_of_a_supervisor_that_cannot_be():
    """A program can have one seccomp listener."""
    assert "it runs in a cgroup of its own" in said(COMMAND, "run", "--how", "seccomp", COMMAND, "run")
    assert "it runs under the seccomp supervisor" in said(COMMAND, "run")


# ---- bad input -------------------------------------------------------------------------


@pytest.mark.parametrize("words, why", [
    (["--mode", "observe"], "the BPF programs cure and have no mode observe"),
    (["--ports", "80,81"], "cure all connections or one port, and cannot obey UNSTALL_PORTS=80,81"),
    (["--peers", "::1"], "cannot obey UNSTALL_PEERS=::1"),
])
def test_what_cannot_be_done_is_refused(words, why):
    done = unstall("run", "--how", "bpf", *words, "true")
    assert done.returncode == 125 and done.stderr.count("\n") == 1 and why in done.stderr


def test_without_privilege_it_is_refused_in_one_line():
    done = unstall("run", "--how", "bpf", "true", user=NOBODY)
    assert done.returncode == 125 and done.stderr.count("\n") == 1
    assert "true: --how bpf; BPF programs cannot be loaded: it needs CAP_BPF" in done.stderr


def test_a_refusal_of_the_kernel_is_one_line_and_its_log_is_for_verbose_2():
    """RLIMIT_NOFILE leaves no descriptor for the programs."""
    def refused(*words):
        return run(["prlimit", "--nofile=8", *UNDER, *words, "true"], bare_env(), check=False)
    done = refused()
    assert done.returncode == 125 and done.stderr.count("\n") == 1 and "--verbose 2" in done.stderr
    assert "libbpf" not in done.stderr and "libbpf" in refused("--verbose", "2").stderr
    assert "libbpf" not in run([*UNDER, "true"], bare_env()).stderr


def test_a_cgroup_where_none_can_be_made_is_named():
    script = f"mount -o remount,ro,bind {cgroup_mount()} && exec {COMMAND} run --how bpf true"
    script = f"mount --bind {cgroup_mount()} {cgroup_mount()} && {script}"
    done = subprocess.run(["unshare", "-m", "sh", "-c", script],
                          capture_output=True, text=True, check=False, env=bare_env())
    assert done.returncode == 125 and done.stderr.count("\n") == 1
    assert re.search(r"unstall-run-\d+: Read-only file system", done.stderr)
