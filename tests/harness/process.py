# SPDX-License-Identifier: MIT
"""Plain children, and their facts in /proc."""

import contextlib
import os
import subprocess
import threading
from dataclasses import dataclass

from .library import bare_env

# How a program of another processor runs here (scripts/arch): "qemu-arm -L FOLDER".
_QEMU = os.environ.get("UNSTALL_TESTS_QEMU", "").split()


def _by_qemu(argv, env):
    """The command and the environment; the variables of ld.so(8) are for the program, not for qemu."""
    if not _QEMU:
        return argv, env
    for_linker = [f"{name}={value}" for name, value in env.items() if name.startswith("LD_")]
    kept = {name: value for name, value in env.items() if not name.startswith("LD_")}
    return [*_QEMU, *(word for setting in for_linker for word in ("-E", setting)), *argv], kept


NOBODY = 65534
AS_NOBODY = {"user": NOBODY, "group": NOBODY, "extra_groups": [], "cwd": "/"}  # for run() and spawned()


@dataclass
class Finished:
    """A child's exit status and output."""
    returncode: int
    stdout: str
    stderr: str


def run(argv, env, *, timeout=60, check=True, **popen):
    """Run a child to its end.  With `check`, an exit code other than 0 fails the test."""
    popen.setdefault("stdin", subprocess.DEVNULL)
    argv, env = _by_qemu([str(word) for word in argv], env)
    settings = dict(popen, env=env, timeout=timeout, check=False, stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE, text=True)
    try:
        done = subprocess.run(argv, **settings)
    except subprocess.TimeoutExpired:
        # Once a program whose thread forks hung under qemu-user 7.2 without the library; 4500 further runs
        # ended.  A hang of the library's own comes again.
        if not _QEMU:
            raise
        done = subprocess.run(argv, **settings)
    if check and done.returncode != 0:
        raise AssertionError(f"{argv} ended with {done.returncode}\n{done.stdout}{done.stderr}")
    return Finished(done.returncode, done.stdout, done.stderr)


@contextlib.contextmanager
def spawned(argv, env=None, **popen):
    """A child, bare by default, whose pipes are of text; at the end it is killed and waited for."""
    popen = {"text": True, **popen}
    with subprocess.Popen([str(word) for word in argv], env=env or bare_env(), **popen) as process:
        try:
            yield process
        finally:
            process.kill()


def is_loaded(pid):
    """Whether the running process `pid` has the library mapped."""
    with open(f"/proc/{pid}/maps", encoding="utf-8") as maps:
        return "libunstall" in maps.read()


def descriptors_of(pid):
    """Number -> target of the descriptors of a running process, without those that it closes meanwhile."""
    folder, found = f"/proc/{pid}/fd", {}
    for name in os.listdir(folder):
        with contextlib.suppress(FileNotFoundError):
            found[int(name)] = os.readlink(f"{folder}/{name}")
    return found


@contextlib.contextmanager
def second_thread():
    """The id of a thread of ours that is not the first."""
    ended = threading.Event()
    thread = threading.Thread(target=ended.wait)
    thread.start()
    try:
        yield thread.native_id
    finally:
        ended.set()
        thread.join()
