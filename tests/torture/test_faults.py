# SPDX-License-Identifier: MIT
"""Every call that the library adds is made to fail in turn, by strace's inject: the program's own
behaviour stays that of the bare one.  It exchanges the same bytes, ends the same way, says the same,
and is no slower than a few stalls.

A fault is (call, error, numbers): of the calls that come after the start (dynamic linker and libc),
which ones fail; `2+` means the second and all later ones, `2..6` these five, `start` every one, from the
start of the process on.  futex, mprotect and prctl are made while the window's thread starts or
runs, mmap also for its stack.
"""

import functools
import re
import subprocess
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from harness import CURING_MODES, IS_32, ScriptedPeer, mode_env, pattern, run_strace
from program import BINARIES, PATIENCE

CLIENT = str(BINARIES / "torture-fault-client")
REQUEST, EXCHANGES, TAIL = 300, 22, 50
AT_ONCE = 3
# 22 exchanges, each with a stall of Nagle's or of a hold that only the kernel could end (the RTO), are 4.6 s.
# A hang takes 30.
SLOWEST_S = 15 * PATIENCE

MODES_HERE = ("off", *CURING_MODES)

FAULTS = [
    ("setsockopt", "ENOPROTOOPT", "1+"),
    ("setsockopt", "EINVAL", "2+"),
    ("setsockopt", "EPERM", "1"),
    ("setsockopt", "ENOBUFS", "3"),
    ("getsockopt", "ENOPROTOOPT", "1+"),
    ("getsockopt", "EINVAL", "2+"),
    ("ioctl", "ENOTTY", "1+"),
    ("fcntl", "EINVAL", "1+"),
    ("mmap", "ENOMEM", "1+"),
    ("mmap", "ENOMEM", "2+"),
    ("mmap", "ENOMEM", "3+"),
    ("mmap", "ENOMEM", "1"),
    ("mmap", "ENOMEM", "2"),
    ("mmap", "ENOMEM", "3"),
    ("mprotect", "ENOMEM", "1+"),
    ("madvise", "EINVAL", "start"),
    ("clone", "EAGAIN", "1"),
    ("clone", "ENOSYS", "1"),
    ("prctl", "EINVAL", "1+"),
    ("futex", "ENOSYS", "1+"),
    ("futex", "EINTR", "1+"),
    ("futex", "EINVAL", "1+"),
    ("rt_sigprocmask", "EINVAL", "1+"),
    ("sendto", "EAGAIN", "2..6"),
    ("sendto", "EAGAIN", "4"),
    ("sendto", "EINTR", "3"),
    ("sendto", "ENOBUFS", "3..5"),
    ("sendto", "ENOMEM", "2"),
]


@functools.cache
def start_calls(mode):
    """How many calls of each name come before the client's mark."""
    with ScriptedPeer(*[REQUEST] * EXCHANGES) as peer:
        trace = run_strace([CLIENT, *peer.target], mode_env(mode))
    counts = Counter()
    for call in trace.main:
        if call.mark is not None:
            break
        counts[call.name] += 1
    return counts


def run_fault(mode, fault):
    """None, or the error; 'not made' when no such call was there to fail."""
    call, error, numbers = fault
    kernels = "mmap2" if IS_32 and call == "mmap" else call
    if call in ("sendto", "clone") and mode != "coalesce":
        return "not made"  # by us: it is the application's own write or fork, and its error is passed on
    when = "1+" if numbers == "start" else re.sub(r"\d+",
                                                  lambda n: str(int(n.group()) + start_calls(mode)[call]),
                                                  numbers)
    with ScriptedPeer(*[REQUEST] * EXCHANGES) as peer, \
            tempfile.NamedTemporaryFile(mode="r", prefix="unstall-") as log:
        begin = time.monotonic()
        # strace itself is bare: the client's environment is its own
        variables = [word for name, value in mode_env(mode).items()
                     if name in ("LD_PRELOAD", "UNSTALL_MODE") for word in ("-E", f"{name}={value}")]
        try:
            done = subprocess.run(
                ["strace", "-f", "-qq", "-o", log.name, "-e", f"trace={kernels}", "-e",
                 f"inject={kernels}:error={error}:when={when}", *variables, CLIENT, *peer.target,
                 # what a fork has shared is held in the kernel, by the application's own write
                 *(["alone"] if call == "sendto" else [])],
                env=mode_env("bare"), stdin=subprocess.DEVNULL, capture_output=True, text=True,
                check=False, timeout=30)
        except subprocess.TimeoutExpired:
            return "the program hangs"
        took = time.monotonic() - begin
        injected = log.read().count("(INJECTED)")
    # a thread that ends inside a call that strace was about to spoil
    said = "".join(line for line in done.stderr.splitlines(True)
                   if not line.startswith("strace: Failed to tamper"))
    if (done.returncode, done.stdout, said) != (0, f"{EXCHANGES - 2} exchanges, child 0\n", ""):
        return f"ended with {done.returncode}, said {done.stdout!r} {said!r}"
    expected = pattern(EXCHANGES * REQUEST + TAIL)
    arrived = bytes(peer.connections[0].received)
    if arrived != expected:
        return f"{len(arrived)} bytes arrived, or other ones, instead of {len(expected)}"
    if took > SLOWEST_S:
        return f"took {took:.1f} s"
    return None if injected else "not made"


POOL = ThreadPoolExecutor(AT_ONCE)
ALL = [(mode, fault) for mode in MODES_HERE for fault in FAULTS]
begun, found = {}, {}


@pytest.fixture(scope="module", autouse=True)
def begin_all(request):
    """Starts the selected cases, once: a case that is repeated (conftest.py) runs by itself."""
    if not found and not begun:
        for item in request.session.items:
            if item.function.__name__ == "test_fault":
                key = item.callspec.params["mode"], item.callspec.params["fault"]
                begun[key] = POOL.submit(run_fault, *key)


def outcome(mode, fault):
    first = begun.pop((mode, fault), None)
    found[mode, fault] = first.result() if first else run_fault(mode, fault)
    return found[mode, fault]


@pytest.mark.parametrize("mode", MODES_HERE)
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: "-".join(fault))
def test_fault(mode, fault):
    wrong = outcome(mode, fault)
    assert wrong in (None, "not made"), wrong


@pytest.mark.parametrize("call", ["setsockopt", "getsockopt", "mmap", "mprotect", "madvise", "clone",
                                  "prctl", "futex", "rt_sigprocmask", "sendto"])
def test_the_call_was_there_to_fail(call):
    """A fault that never meets a call proves nothing: each is met in some mode."""
    known_first = sorted((key for key in ALL if key[1][0] == call), key=lambda key: key not in found)
    met = any((found[key] if key in found else outcome(*key)) is None for key in known_first)
    assert met, f"no mode makes {call}"
