# SPDX-License-Identifier: MIT
"""unstall ab --live of programs without the library: the kernel gives the arms, and measures."""

import array
import contextlib
import fcntl
import json
import os
import re
import signal
import socket
import subprocess
import sys
import termios
import threading
import time
from pathlib import Path

import pytest
from talkers import (KINDS, PINS, alone, cgroup, is_cured, nothing_pinned, stalls, talking, wait_until)

from harness import COMMAND, bare_env, preload_env, unstall

sys.path.insert(0, str(Path(__file__).parents[1] / "experiments"))

from trial import Histogram, ab, answering, client, measured  # noqa: E402

NOBODY = 65534
ALMOST_ALL = "nodelay:1000,off:1"


@pytest.fixture(autouse=True)
def nothing_stays():
    with alone():
        yield from nothing_pinned()


@contextlib.contextmanager
def load_on(port, connections, exchanges=10):
    """Connections to a server, in the background."""
    def send():
        subprocess.run(client(port, exchanges, "one", connections), env=bare_env(), check=False,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    thread = threading.Thread(target=send)
    thread.start()
    try:
        yield
    finally:
        thread.join()


def pid_of(port):
    """The server that listens there: a child of ours."""
    return next(int(pid) for pid in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
                if f"\0{port}\0" in Path(f"/proc/{pid}/cmdline").read_text())


class Experiment:
    """An experiment in the background."""

    def __init__(self, *words, tell=PINS):
        self.process = subprocess.Popen([COMMAND, "ab", "--live", *map(str, words)], env=bare_env(),
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.out = self.err = ""
        assert wait_until(lambda: list(tell.glob("*/events")) or self.process.poll() is not None)

    def carrier(self):
        """The id of its `unstall attach`."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        return next(int(pid) for pid in children if b"attach" in Path(f"/proc/{pid}/cmdline").read_bytes())

    def end(self, number=signal.SIGINT):
        if self.process.poll() is None:
            self.process.send_signal(number)
        self.out, self.err = self.process.communicate(timeout=60)
        return self.process.returncode


@contextlib.contextmanager
def experiment(*words):
    e = Experiment(*words)
    try:
        yield e
    finally:
        e.end()


def arms_of(path):
    """The units of each arm."""
    units = measured(path)["units"]
    return {arm: [unit for unit in units if unit["arm"] == arm] for arm in ("off", "nodelay")}


# ---- the answer ---------------------------------------------------------------


def test_the_stall_is_in_the_off_connections_and_in_no_other(tmp_path):
    path = tmp_path / "r.json"
    with answering(0, 2) as port, load_on(port, 80):
        pid = pid_of(port)
        done = ab("--live", pid, "--until-sure", "--min-exchanges", 8, "--time", 60, "--json", path)
    assert done.returncode == 0, done.stderr
    assert "nodelay wins" in done.stdout and "Ended early" in done.stdout
    assert f"To deploy: unstall attach --detach --mode always {pid}\n" in done.stdout
    assert f"target  {pid}, arms given in the kernel" in done.stdout
    value = measured(path)
    assert value["experiment"]["target"] == str(pid) and value["experiment"]["arms"] == ["off", "nodelay"]
    arms = arms_of(path)
    slow = {arm: [Histogram.of_json(unit["histogram"]).at_least(33_000_000) for unit in units]
            for arm, units in arms.items()}
    assert len(slow["off"]) >= 5
    # On a busy machine a peer that is late acknowledges with its answer, and any exchange may be slow.
    stalls_of = {arm: sum(unit["stalls"] for unit in units) for arm, units in arms.items()}
    assert sum(slow["off"]) >= stalls_of["off"] >= len(slow["off"])
    assert stalls_of["nodelay"] == 0
    assert value["analysis"]["against"][0]["difference"]["value"] < -5


def test_a_program_that_does_not_stall_shows_no_difference(tmp_path):
    with answering(5, 1) as port, load_on(port, 60):
        ab("--live", pid_of(port), "--time", 3, "--min-exchanges", 5, "--json", tmp_path / "r.json")
    value = measured(tmp_path / "r.json")
    against, = value["analysis"]["against"]
    assert abs(against["contrast"]["estimate"]) < 0.7
    assert all(unit["stalls"] == 0 for unit in value["units"] + value["totals"])


def test_the_client_is_the_target_and_its_peer_thinks(tmp_path):
    """44 ms of thinking are no stall, and no arm changes them."""
    with answering(44, 1) as port:
        load = subprocess.Popen(client(port, 30, "one", 16), env=bare_env(), stdout=subprocess.DEVNULL)
        try:
            ab("--live", load.pid, "--time", 3, "--min-exchanges", 5, "--json", tmp_path / "r.json")
        finally:
            load.kill()
            load.wait()
    units = measured(tmp_path / "r.json")["units"]
    assert units and all(44e6 <= unit["exchange_ns"] / unit["exchanges"] for unit in units)
    assert not any(unit["stalls"] for unit in units)


def test_off_against_off_names_no_winner():
    with answering(0, 2) as port, load_on(port, 60):
        done = ab("--live", pid_of(port), "--aa", "--time", 5, "--min-exchanges", 5, "--confidence", 99.9)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "off-2" in done.stdout


@pytest.mark.parametrize("kind", KINDS)
def test_exchanges_are_as_many_and_as_long_as_the_program_measures(kind):
    """The lines of the carrier against those of the program; the connection was there before."""
    with talking(kind) as talker:
        words = [COMMAND, "attach", str(talker.pid), "--arms", "off:1,off:1", "--seed", "1"]
        carrier = subprocess.Popen(words, env=bare_env(), stdout=subprocess.PIPE, text=True)
        try:
            assert json.loads(carrier.stdout.readline())["existed"] == 1
            before = len(talker.told)
            assert wait_until(lambda: len(talker.told) >= before + 40)
            told = talker.told[before:]
            carrier.send_signal(signal.SIGINT)
            lines = carrier.communicate(timeout=60)[0].splitlines()
        finally:
            carrier.kill()
            carrier.wait()
    sums = [row for row in json.loads(lines[-1])["rows"] if row["connections"]]
    assert [row["connections"] for row in sums] == [1]
    assert len(told) - 2 <= sums[0]["exchanges"] <= len(talker.told) - before + 2
    mean_ms = sum(took for took, _ in told) / len(told)
    # Most exchanges stall.  On a busy machine the program notices late that its answer is there.
    assert 20 < sums[0]["exchange_ns"] / sums[0]["exchanges"] / 1e6 < mean_ms * 1.25
    slow = sum(took > 33 for took, _ in told)  # on a busy machine not all of them for a stall
    assert slow / 2 <= sums[0]["stalls_proved"] <= slow + 2


# ---- who gets which arm ----------------------------------------------------------


def test_an_assignment_is_repeated_by_its_seed(tmp_path):
    found = []
    for seed in (7, 7, 8):
        path = tmp_path / f"{len(found)}.json"
        with answering(0, 1) as port, experiment(pid_of(port), "--seed", seed, "--min-exchanges", 1, "--json",
                                                 path) as e, load_on(port, 24, 2):
            pass
        assert e.process.returncode in (0, 2), e.err
        found.append({unit["name"].rpartition("-")[2]: unit["arm"] for unit in measured(path)["units"]})
    assert len(found[0]) == 24 and found[0] == found[1] != found[2]


def test_by_peer_all_connections_of_an_address_are_one_unit(tmp_path):
    with answering(0, 1) as port, experiment(pid_of(port), "--assign", "peer", "--json",
                                             tmp_path / "r.json") as e, load_on(port, 8, 4):
        pass
    assert "Nothing to compare" in e.out, e.err
    unit, = measured(tmp_path / "r.json")["units"]
    assert (unit["name"], unit["connections"], unit["exchanges"]) == ("127.0.0.1", 8, 24)


@pytest.mark.parametrize("how", ["--cgroup", "--unit", "--container"])
def test_a_connection_that_is_there_gets_an_arm_and_its_value_back(how):
    digits = f"{os.getpid():064x}"
    name = {"--unit": f"unstall-{os.getpid()}.service"}.get(how, f"docker-{digits}.scope")
    with cgroup(name) as (folder, enter), talking(before=enter) as inside, talking() as outside:
        word = {"--cgroup": folder, "--unit": name, "--container": digits}[how]
        assert stalls(inside)
        with experiment(how, word, "--arms", ALMOST_ALL) as e:
            assert is_cured(inside)
            inside.say("new")
            assert is_cured(inside) and inside.reads_back() == {0}
            assert stalls(outside)
        assert e.process.returncode == 2, e.err
        assert "connections that were there before and take part: 1\n" in e.out
        assert stalls(inside) and inside.reads_back() == {0}


LATE = """
import socket, sys
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
sys.stdin.readline()
"""

AGAIN = """
import ctypes, socket, sys
port, unspecified = int(sys.stdin.readline()), b"\\0" * 16
client = socket.socket()
for _ in range(2):
    client.connect(("127.0.0.1", port))
    client.send(b"r" * 300)
    client.recv(100)
    print(client.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY), flush=True)
    ctypes.CDLL(None).connect(client.fileno(), unspecified, 16)
sys.stdin.readline()
"""


@contextlib.contextmanager
def program(text):
    child = subprocess.Popen([sys.executable, "-S", "-c", text], stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, text=True)
    try:
        yield child
    finally:
        child.kill()
        child.communicate()


def test_a_connection_that_waits_for_accept_takes_part():
    """It has no descriptor, and was made before its listener was marked: it never took part."""
    with program(LATE) as child, \
            socket.create_connection(("127.0.0.1", int(child.stdout.readline()))), \
            carrying(child.pid) as carrier:
        assert json.loads(carrier.stdout.readline())["existed"] == 1
        carrier.send_signal(signal.SIGINT)
        carrier.communicate(timeout=60)


def test_a_socket_that_is_connected_again_is_another_connection():
    """It kept its number, and the second connection had no arm of its own."""
    with answering(0, 1) as port, program(AGAIN) as child, carrying(child.pid) as carrier:
        carrier.stdout.readline()
        child.stdin.write(f"{port}\n")
        child.stdin.flush()
        assert [child.stdout.readline() for _ in range(2)] == ["0\n", "0\n"]
        carrier.send_signal(signal.SIGINT)
        rows = json.loads(carrier.communicate(timeout=60)[0].splitlines()[-1])["rows"]
    assert sum(row["connections"] for row in rows) == sum(row["connections_ended"] for row in rows) == 2


def test_a_member_with_the_library_is_named():
    with cgroup(f"unstall-{os.getpid()}") as (folder, enter):
        member = subprocess.Popen(["/usr/bin/sleep", "60"], env=preload_env(), preexec_fn=enter)
        try:
            assert wait_until(lambda: "libunstall" in Path(f"/proc/{member.pid}/maps").read_text())
            done = ab("--live", "--cgroup", folder, "--time", 1)
        finally:
            member.kill()
            member.wait()
    assert f"process {member.pid} has libunstall.so, which acts in every arm" in done.stderr


def test_two_experiments_at_once():
    with talking() as one, talking() as other, experiment(one.pid, "--arms", ALMOST_ALL):
        with experiment(other.pid, "--arms", ALMOST_ALL):
            assert is_cured(one) and is_cured(other)
            done = ab("--live", one.pid, "--time", 1)
            assert done.returncode == 125 and done.stderr.count("\n") == 1
            assert "attached already" in done.stderr
        assert is_cured(one) and stalls(other)


def test_list_names_it():
    with talking() as talker, experiment(talker.pid):
        assert re.match(rf"pid-{talker.pid}\s.*mode of an experiment", unstall("attach", "--list").stdout)


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


def carrying(pid):
    """`unstall attach --arms` itself; its standard output is a small pipe."""
    words = [COMMAND, "attach", str(pid), "--arms", ALMOST_ALL, "--seed", "1"]
    return subprocess.Popen(words, env=bare_env(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                            text=True, pipesize=4096)


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
    with talking() as talker, carrying(talker.pid) as carrier:
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
