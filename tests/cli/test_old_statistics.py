# SPDX-License-Identifier: MIT
"""Statistics that nobody needs any more are removed, and nothing else is."""

import contextlib
import os
import shutil
import signal
import struct
import subprocess
import time
from pathlib import Path

from harness import COMMAND, NOBODY, bare_env, preload_env, unstall, wait_for_stats_file, wait_until
from stats_files import make_stats_file

MB = 1000000
DAY_NS = 86400 * 10**9
# Asks the peer on this port, until it is killed.
CLIENT = ["/usr/bin/python3", "-S", "-c", """
import socket, sys, time
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
while True:
    s.sendall(b"x" * 300)
    s.recv(200)
    time.sleep(0.05)
"""]


def patch(path, **times):
    """started_ns, started_monotonic_ns, ended_monotonic_ns, pid: of the header."""
    places = {"started_ns": (24, "<Q"), "started_monotonic_ns": (32, "<Q"), "ended_monotonic_ns": (40, "<Q"),
              "pid": (48, "<I")}
    with open(path, "r+b") as file:
        for name, value in times.items():
            at, kind = places[name]
            file.seek(at)
            file.write(struct.pack(kind, value))


def ended(folder, name, days=0.0, full=False):
    """A file whose process has ended so long ago; full: it takes all the memory that it may."""
    path = make_stats_file(folder / f"{name}.unstall")
    boot = time.monotonic_ns() + 10**15  # before this one: this machine may be younger than a week
    patch(path, started_ns=time.time_ns() - int(days * DAY_NS) - 10**9, started_monotonic_ns=boot,
          ended_monotonic_ns=boot + 10**9, pid=2**22 - 1)
    if full:
        with open(path, "r+b") as file:
            os.posix_fallocate(file.fileno(), 0, path.stat().st_size)
    return path


def names(folder):
    return {path.name.split(".")[0] for path in folder.iterdir()}


def start(folder, program_words=("true",)):
    done = unstall("run", "--stats", folder, *program_words)
    assert done.returncode == 0
    return done.stderr


# ---- run --stats -----------------------------------------------------------------

def test_after_a_week_a_file_goes_and_one_line_says_so(folder):
    ended(folder, "old", 7.1)
    ended(folder, "young", 6.9)
    said = start(folder)
    assert names(folder) == {"young"}
    assert said.startswith(f"unstall run: {folder}: removed 1 statistics file of processes that have ended, ")
    assert said.endswith("older than 7 days, or the oldest beyond 64 MB\n") and said.count("\n") == 1
    assert start(folder) == ""


def test_the_sleep_of_the_machine_is_no_age(folder):
    """The clock of a life stands still then: a process of ten days ago that ended now was old."""
    now = time.monotonic_ns()
    patch(ended(folder, "young"), started_ns=time.time_ns() - 10 * DAY_NS, started_monotonic_ns=now - 10**9,
          ended_monotonic_ns=now)
    assert start(folder) == "" and names(folder) == {"young"}


def test_where_all_take_too_much_the_oldest_go(folder):
    many_full(folder)
    start(folder)
    left = names(folder)
    assert left and left == {f"n{number}" for number in range(len(left))}
    each = taken(folder) / len(left)
    assert 64 * MB - each < taken(folder) <= 64 * MB


def taken(folder):
    return sum(path.stat().st_blocks * 512 for path in folder.iterdir())


def many_full(folder):
    """More than 64 MB, the last ones the oldest."""
    number = 0
    while taken(folder) < 80 * MB:
        ended(folder, f"n{number}", number / 1000, full=True)
        number += 1


def test_nothing_else_goes(folder, tmp_path):
    """A killed process may only be one that we do not see: in another PID namespace it may live."""
    ended(folder, "old", 8)
    kept = {"killed", "text", "folder", "link", "other", "foreign", "runs"}
    patch(ended(folder, "killed", 8), ended_monotonic_ns=0)
    (folder / "text.unstall").write_text("no statistics", encoding="ascii")
    (folder / "folder.unstall").mkdir()
    (folder / "link.unstall").symlink_to(ended(tmp_path, "elsewhere", 8))
    shutil.copy(ended(tmp_path, "a", 8), folder / "other.name")
    foreign = ended(folder, "foreign", 8)
    if os.geteuid() == 0:
        os.chown(foreign, NOBODY, NOBODY)
    else:
        kept -= {"foreign"}
    with mapped(ended(folder, "runs", 8)):
        start(folder)
    assert names(folder) == kept
    assert (tmp_path / "elsewhere.unstall").exists()


@contextlib.contextmanager
def mapped(path):
    """Its process lives, although the file says that it has ended."""
    words = ("import mmap, sys, time; f = open(sys.argv[1], 'r+b'); m = mmap.mmap(f.fileno(), 0); "
             "print(flush=True); time.sleep(300)")
    with subprocess.Popen(["/usr/bin/python3", "-S", "-c", words, path], stdout=subprocess.PIPE) as keeper:
        keeper.stdout.readline()
        patch(path, pid=keeper.pid)
        yield
        keeper.kill()


def test_the_file_of_a_program_that_runs_stays(peer, folder):
    with subprocess.Popen([*CLIENT, str(peer.port)], env=preload_env(UNSTALL_STATS=folder)) as client:
        wait_for_stats_file(folder)
        path = next(folder.iterdir())
        patch(path, started_ns=time.time_ns() - 9 * DAY_NS)
        many_full(folder)
        start(folder)
        client.kill()
        assert path.exists() and taken(folder) <= 64 * MB


# ---- observe ---------------------------------------------------------------------

def observe(runtime, *words, **popen):
    return subprocess.Popen([COMMAND, "observe", *map(str, words)], text=True, stdout=subprocess.DEVNULL,
                            stderr=subprocess.DEVNULL, env=bare_env(XDG_RUNTIME_DIR=runtime), **popen)


def age(folder):
    """A minute is left for an observe that has just made its folder."""
    then = time.time() - 100
    os.utime(folder, (then, then))


def left_by_a_killed_one(runtime, peer, kill_program=True):
    """The folder of an observe that was killed, and its program."""
    before = set(runtime.iterdir())
    command = observe(runtime, *CLIENT, peer.port, start_new_session=True)
    assert wait_until(lambda: set(runtime.iterdir()) - before)
    folder = next(iter(set(runtime.iterdir()) - before))
    wait_for_stats_file(folder)
    pid = int(next(folder.iterdir()).name.split("-")[0])
    os.kill(command.pid, signal.SIGKILL)
    command.wait()
    if kill_program:
        os.kill(pid, signal.SIGKILL)
        assert wait_until(lambda: not Path(f"/proc/{pid}/exe").exists() or is_zombie(pid))
    age(folder)
    return folder, pid


def is_zombie(pid):
    with contextlib.suppress(OSError):
        return "State:\tZ" in Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return True


def test_the_folder_of_a_killed_observe_goes_with_the_next_one(peer, folder):
    left, _ = left_by_a_killed_one(folder, peer)
    done = unstall("observe", "true", env=bare_env(XDG_RUNTIME_DIR=folder))
    assert not left.exists()
    assert f"{folder}: removed the statistics of 1 observe that had been killed\n" in done.stderr
    assert "removed" not in unstall("observe", "true", env=bare_env(XDG_RUNTIME_DIR=folder)).stderr


def test_not_while_its_program_runs_nor_with_a_file_that_is_none_of_ours(peer, folder):
    left, pid = left_by_a_killed_one(folder, peer, kill_program=False)
    try:
        unstall("observe", "true", env=bare_env(XDG_RUNTIME_DIR=folder))
        assert len(list(left.iterdir())) == 1
    finally:
        os.kill(pid, signal.SIGKILL)
    (left / "notes").touch()
    age(left)
    unstall("observe", "true", env=bare_env(XDG_RUNTIME_DIR=folder))
    assert len(list(left.iterdir())) == 2


def test_the_folder_of_an_observe_that_runs_stays(folder):
    """Its program has ended or made no connection yet: only the lock of the folder shows that it is used."""
    with observe(folder, "sleep", "300") as command:
        try:
            assert wait_until(lambda: list(folder.iterdir()))
            used = next(folder.iterdir())
            age(used)
            unstall("observe", "true", env=bare_env(XDG_RUNTIME_DIR=folder))
            assert used.exists()
        finally:
            command.terminate()
