# SPDX-License-Identifier: MIT
"""unstall ab --live of programs without the library: how it ends, and what it refuses."""

import array
import contextlib
import fcntl
import json
import os
import signal
import socket
import sys
import termios
import time
from pathlib import Path

import pytest
from running import ALMOST_ALL, carrying, experiment, pid_of
from unreached import PINS, is_cured, stalls, talking, wait_until

from harness import NOBODY, preload_env, unstall

sys.path.insert(0, str(Path(__file__).parents[1] / "experiments"))

from trial import ab, answering  # noqa: E402


# ---- its end --------------------------------------------------------------------


def test_it_ends_with_the_target():
    with talking() as talker, experiment(talker.pid) as e:
        time.sleep(1)
        talker.process.kill()
        assert wait_until(lambda: e.process.poll() is not None)
    assert f"process {talker.pid} has ended" in e.err
    assert e.process.returncode == 2


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_with_a_report_and_puts_all_back(number):
    with talking() as talker, experiment(talker.pid, "--arms", ALMOST_ALL, "--min-exchanges", 1) as e:
        assert is_cured(talker)
        e.end(number)
        assert "nodelay" in e.out
        assert stalls(talker)


def test_killed_it_puts_all_back_all_the_same():
    """The command that carries it notices that nobody reads it."""
    with talking() as talker, experiment(talker.pid, "--arms", ALMOST_ALL) as e:
        assert is_cured(talker)
        e.process.kill()
        assert wait_until(lambda: not PINS.exists())
        assert stalls(talker)


def test_where_its_carrier_is_killed_detach_puts_all_back():
    with talking() as talker, experiment(talker.pid, "--arms", ALMOST_ALL) as e:
        assert is_cured(talker)
        os.kill(e.carrier(), signal.SIGKILL)
        assert wait_until(lambda: e.process.poll() is not None)
        e.end()
        assert f"unstall detach {talker.pid}" in e.err
        assert is_cured(talker)
        assert unstall("detach", talker.pid).returncode == 0
        assert stalls(talker) and not PINS.exists()


@contextlib.contextmanager
def blocked_carrier():
    """It has filled the pipe in the middle of a line, and nobody reads."""
    with answering(0, 1) as port, contextlib.ExitStack() as connections:
        for _ in range(40):
            connections.enter_context(socket.create_connection(("127.0.0.1", port)))
        with carrying(pid_of(port)) as carrier:
            try:
                assert wait_until(lambda: bytes_in(carrier.stdout) > 2000)
                time.sleep(1)
                assert bytes_in(carrier.stdout) <= 4096
                yield carrier
            finally:
                carrier.kill()


def bytes_in(pipe):
    """Those that nobody has read (FIONREAD)."""
    room = array.array("i", [0])
    fcntl.ioctl(pipe, termios.FIONREAD, room)
    return room[0]


def test_one_signal_puts_all_back_although_nobody_reads():
    """The carrier waited within the write to a full pipe, and after the signal within the next one."""
    with blocked_carrier() as carrier:
        carrier.send_signal(signal.SIGINT)
        assert wait_until(lambda: carrier.poll() is not None), "it still waits for a reader"
        assert carrier.returncode == 0 and not PINS.exists()


def test_a_signal_breaks_no_line():
    """The signal interrupted the write to a full pipe; that part of the line was lost."""
    with blocked_carrier() as carrier:
        carrier.send_signal(signal.SIGINT)
        time.sleep(0.1)
        lines = [json.loads(line) for line in carrier.stdout.read().splitlines()]
        assert carrier.wait(60) == 0
    assert sum(row["connections"] for row in lines[-1]["rows"]) == 40


def test_after_a_detach_the_report_still_has_all_that_was_measured():
    """The last line of the carrier had no sums, and 0 connections that were there before."""
    with talking() as talker:
        assert wait_until(lambda: talker.told), "it has no connection"
        with carrying(talker.pid) as carrier:
            first = json.loads(carrier.stdout.readline())
            assert unstall("detach", talker.pid).returncode == 0
            last = json.loads(carrier.communicate(timeout=60)[0].splitlines()[-1])
    assert (first["existed"], last["existed"]) == (1, 1)
    assert sum(row["connections"] for row in last["rows"]) == 1


def test_the_end_of_one_leaves_a_later_one_of_the_same_name_alone():
    """The command knew its attachment by the name alone."""
    with talking() as talker, carrying(talker.pid) as carrier:
        carrier.stdout.readline()
        carrier.send_signal(signal.SIGSTOP)
        assert unstall("detach", talker.pid).returncode == 0
        assert unstall("attach", "--detach", "--mode", "always", talker.pid).returncode == 0
        carrier.send_signal(signal.SIGINT)
        carrier.send_signal(signal.SIGCONT)
        carrier.communicate(timeout=60)
        assert is_cured(talker) and f"pid-{talker.pid}" in unstall("attach", "--list").stdout
        assert unstall("detach", talker.pid).returncode == 0


# ---- bad input -------------------------------------------------------------------


@pytest.mark.parametrize("words, why", [
    (["--arms", "off,auto"], "without the library the arms are given in the kernel"),
    (["--base", "auto"], "--base auto: no such arm; there are off, nodelay"),
])
def test_what_the_kernel_has_not_is_refused(words, why):
    with talking() as talker:
        done = ab("--live", talker.pid, *words)
    assert done.returncode == 125 and done.stderr.count("\n") == 1 and why in done.stderr


def test_without_privilege_one_line_names_the_capabilities():
    with talking(user=NOBODY) as talker:
        done = ab("--live", talker.pid, user=NOBODY)
    assert done.returncode == 125 and done.stderr.count("\n") == 1
    assert f"{talker.pid}: " in done.stderr and "CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN" in done.stderr


def test_where_the_command_cannot_be_started_one_line_says_so():
    """It was a traceback."""
    with talking() as talker:
        done = ab("--live", talker.pid, "--unstall", "/nonexistent")
    assert done.returncode == 125 and done.stderr.count("\n") == 1 and "/nonexistent" in done.stderr


def test_no_such_unit():
    done = ab("--live", "--unit", "no-such-unit")
    assert done.returncode == 125 and "no-such-unit.service: no such unit runs" in done.stderr


def test_a_program_with_the_library_and_without_statistics_is_refused():
    """Its own cure would be in both arms."""
    with talking(env=preload_env("auto")) as talker:
        done = ab("--live", talker.pid)
    assert done.returncode == 125 and "has no statistics file" in done.stderr
