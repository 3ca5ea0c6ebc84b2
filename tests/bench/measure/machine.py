# SPDX-License-Identifier: MIT
"""Where the programs are, and how they are started: pinned, and ended by their process id."""

import json
import os
import shutil
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(os.environ.get("UNSTALL_SOURCE_ROOT", Path(__file__).resolve().parents[3]))
BUILD = Path(os.environ.get("UNSTALL_BUILD_ROOT", ROOT / "build"))
LIB = Path(os.environ.get("UNSTALL_LIB", BUILD / "src/preload/libunstall.so"))
PROGRAMS = BUILD / "tests/bench"

sys.path.append(str(ROOT / "tests/harness"))  # for ports.py alone: the package imports pytest
from ports import free_port  # noqa: E402, F401  # pylint: disable=wrong-import-position

CORE = max(os.sched_getaffinity(0))


def program(name):
    """The path of one of our own programs."""
    return str(PROGRAMS / f"bench-{name}")


def say(text):
    print(text, flush=True)


def found(*names):
    """The names that are not installed, for a reason to skip."""
    extra = os.environ["PATH"] + ":/usr/sbin:/sbin"
    return [name for name in names if not shutil.which(name, path=extra)]


def environment(preload=None, mode=None, **more):
    """The environment of a measured process; nothing of the caller's own unstall."""
    env = {name: value for name, value in os.environ.items()
           if not name.startswith("UNSTALL_") and name != "LD_PRELOAD"}
    env["PATH"] += ":/usr/sbin:/sbin"
    if preload:
        env["LD_PRELOAD"] = str(preload)
    if mode:
        env["UNSTALL_MODE"] = mode
    env.update({name: str(value) for name, value in more.items()})
    return env


@contextmanager
def pinned(core=CORE):
    """Processes started meanwhile run on one core."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def run(argv, env=None, timeout=120):
    """Run to the end; its standard output."""
    done = subprocess.run(argv, env=env or environment(), stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=timeout, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{argv[0]}: exit {done.returncode}: {done.stderr.strip()[-500:]}")
    return done.stdout


def run_json(argv, env=None, timeout=120):
    return json.loads(run(argv, env, timeout))


def child_of(pid):
    """The process that strace or another wrapper has started."""
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return int(file.read().split()[0])


def cpu_ns(pid):
    """The processor time of a process's threads, without the ended ones."""
    total = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        total += int((task / "schedstat").read_text(encoding="ascii").split()[0])
    return total


@contextmanager
def running(argv, env=None, stdin=None, wrapped=False):
    """A server that prints its port on its first line.  `wrapped`: strace is around it, which
    passes no signal on."""
    process = subprocess.Popen(argv, env=env or environment(), stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, stdin=stdin, text=True)
    try:
        first = process.stdout.readline().strip()
        if not first:
            raise RuntimeError(f"{argv[0]} did not start")
        process.said = first
        yield process
    finally:
        if process.poll() is None:
            os.kill(child_of(process.pid) if wrapped else process.pid, signal.SIGTERM)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()
