# SPDX-License-Identifier: MIT
"""Live configuration and the arms of experiments, through the control block of the statistics file."""

import json
import subprocess
import time

import pytest

from harness import (CURING_MODES, DESTINATION, KEEP, LISTENER, MODES, MODE_NUMBERS, NO_ARM, STALL_MS,
                     AnsweringPeer, judged, least, patiently, pattern, preload_env, program, run, run_client,
                     run_judged, run_strace, spawned, stats_directory, stats_files_in, stats_flag, stats_in,
                     wait_for_stats_file, write_control)
from harness.patience import TRIES

EXCHANGES = 8

# Commands on standard input: `open` a connection (from an address), `go` on one of them, `quit`.
DRIVEN = """
import socket, sys, time, json
links = []
for line in sys.stdin:
    word, *rest = line.split()
    if word == "open":
        links.append(socket.create_connection((sys.argv[1], int(sys.argv[2])),
                                              source_address=(rest[0], 0) if rest else None))
        print(len(links) - 1, flush=True)
    elif word == "go":
        times = []
        for _ in range(int(rest[1])):
            began = time.monotonic()
            link = links[int(rest[0])]
            link.send(b"h" * 200)
            link.send(b"b" * 100)
            got = 0
            while got < 200:
                got += len(link.recv(200 - got))
            times.append((time.monotonic() - began) * 1000)
        print(json.dumps(times), flush=True)
    else:
        break
"""


@pytest.fixture
def directory():
    with stats_directory() as path:
        yield path


class Driven:
    """A program under the library that obeys commands."""

    def __init__(self, peer, directory, mode="auto", **variables):
        self.child = subprocess.Popen(["/usr/bin/python3", "-c", DRIVEN, *peer.target], text=True,
                                      env=preload_env(mode, UNSTALL_STATS=directory, **variables),
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.errors = ""
        self.made = 0  # exchanges

    def __enter__(self):
        return self

    def __exit__(self, *_):
        _, self.errors = self.child.communicate("quit\n", timeout=30)
        assert self.child.returncode == 0, self.errors

    def _say(self, line):
        self.child.stdin.write(line + "\n")
        self.child.stdin.flush()
        return json.loads(self.child.stdout.readline())

    def open(self, source=""):
        return self._say(f"open {source}")

    def go(self, link, count=EXCHANGES):
        self.made += count
        return self._say(f"go {link} {count}")

    def stalls(self, link, wanted=True):
        """Whether the exchanges of this connection stall; it goes on with it if that is not as wanted.

        The first few of a connection never stall.
        """
        for _ in range(TRIES):
            found = sorted(self.go(link))[EXCHANGES // 2] > STALL_MS
            if found is wanted:
                break
        return found


def emptied(directory):
    for old in directory.iterdir():
        old.unlink()


def path_in(directory):
    path, = directory.iterdir()
    return path


# ---- modes ----------------------------------------------------------------


def test_modes_change_under_traffic_and_no_byte_is_lost(directory):
    with AnsweringPeer() as peer:
        child = subprocess.Popen([program("stats_exchanges"), *peer.target, "3", "1", "6000"],
                                 env=preload_env("off", UNSTALL_STATS=directory), stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, text=True)
        wait_for_stats_file(directory)
        time.sleep(0.1)
        deadline = time.monotonic() + 60
        path = path_in(directory)
        switches = 0
        walk = [mode for first in MODES for other in MODES if other != first for mode in (first, other)]
        while child.poll() is None and time.monotonic() < deadline:
            write_control(path, mode=MODE_NUMBERS[walk[switches % len(walk)]])
            switches += 1
            time.sleep(0.02)
            if switches == 2 * len(walk):
                break
        write_control(path, mode=MODE_NUMBERS["auto"])
        out, err = child.communicate(timeout=300)
        assert child.returncode == 0 and err == "" and '"loaded": true' in out
        for connection in peer.connections:
            assert bytes(connection.received) == pattern(6000 * 300)
    assert switches > 20
    stats_file = stats_in(directory)
    # more than one row where a connection was made after the first switch
    rows = [row for row in stats_file.rows if row["role"] == DESTINATION]
    assert [sum(row[name] for row in rows) for name in ("messages", "bytes", "exchanges")] == [
        18000, 18000 * 300, 18000]


@pytest.mark.parametrize("first", MODES)
def test_from_each_mode_to_each_other(directory, first):
    """And back.  A connection that was unused at a switch was taken for one to leave alone, and stayed so."""
    with AnsweringPeer() as peer, Driven(peer, directory, first) as driven:
        used, made = driven.open(), []
        driven.go(used, 4)
        path = path_in(directory)
        for mode in [mode for other in MODES if other != first for mode in (other, first)]:
            made.append(driven.open())
            write_control(path, mode=MODE_NUMBERS[mode])
            for link in (used, made[-1]):
                assert driven.stalls(link, mode not in CURING_MODES) is (mode not in CURING_MODES), mode
    assert sum(len(connection.received) for connection in peer.connections) == 300 * driven.made


@pytest.mark.parametrize("mode", MODES)
def test_off_is_bare_at_once(directory, mode):
    """From the next message on the trace is the bare program's, and the options are its own."""
    with AnsweringPeer() as peer:
        trace = run_strace([program("stats_control", stats_flag()), *peer.target, EXCHANGES, 0, directory,
                            0],
                           preload_env(mode, UNSTALL_STATS=directory))
        assert bytes(peer.connections[0].received) == pattern((8 + EXCHANGES) * 300)
    for index in range(EXCHANGES):
        calls = [call for call in trace.after(index) if not call.has("TCP_INFO")]
        assert [(call.name, call.ret) for call in calls] == [("write", 200), ("write", 100), ("read", 200)]
    facts = json.loads(trace.stdout.splitlines()[-1])
    assert facts["nodelay"] == facts["idle_nodelay"] == 0
    if mode == "nodelay":
        assert facts["idle_before"] == 1
    stats_file = stats_in(directory)
    assert (stats_file["mode"], stats_file["control_seen"]) == (0, stats_file["control"]["sequence"])


def run_controlled(directory, first, mode, *killed, cured):
    """A program that goes on from its first mode to another one, by its own control block."""
    def measure():
        emptied(directory)
        with AnsweringPeer() as peer:
            return run_client(program("stats_control", stats_flag()), first, *peer.target, EXCHANGES, 0,
                              directory, MODE_NUMBERS[mode], *killed, UNSTALL_STATS=directory)

    return judged(measure, cured)


@pytest.mark.parametrize("mode", ["nodelay", "cork", "coalesce", "auto"])
def test_killed_is_off(directory, mode):
    done = run_controlled(directory, mode, mode, "killed", cured=False)
    assert done.facts["nodelay"] == 0 and done.stalls
    assert stats_in(directory)["mode"] == 0


@pytest.mark.parametrize("mode", ["nodelay", "cork", "coalesce", "auto"])
def test_a_cure_begins_live(directory, mode):
    assert not run_controlled(directory, "off", mode, cured=True).stalls


def test_keep_is_what_it_was_started_with(directory):
    with AnsweringPeer() as peer, Driven(peer, directory, "nodelay", UNSTALL_WINDOW_US=2000) as driven:
        link = driven.open()
        driven.go(link, 4)
        path = path_in(directory)
        assert not driven.stalls(link, wanted=False)
        write_control(path, mode=0, window_us=50000)
        assert driven.stalls(link)
        stats_file = stats_in(directory)
        assert (stats_file["mode"], stats_file["window_us"]) == (0, 50000)
        write_control(path, mode=KEEP, window_us=0)
        assert not driven.stalls(link, wanted=False)
        stats_file = stats_in(directory)
        assert (stats_file["mode"], stats_file["window_us"]) == (MODE_NUMBERS["nodelay"], 2000)
    assert driven.errors == ""


GARBAGE = {
    "version": dict(version=2), "mode": dict(mode=77), "window": dict(window_us=499),
    "long-window": dict(window_us=100001),
    "arms": dict(arm_count=7), "assignment": dict(assignment=9),
    "weight-zero": dict(arm_count=1, mode0=0, weight0=0),
    "weight-huge": dict(arm_count=1, mode0=0, weight0=1001),
    "arm-mode": dict(arm_count=1, mode0=6, weight0=1),
}


@pytest.mark.parametrize("kind", GARBAGE)
def test_garbage_is_ignored_with_one_warning(directory, kind):
    with AnsweringPeer() as peer, Driven(peer, directory) as driven:
        link = driven.open()
        driven.go(link, 4)
        write_control(path_in(directory), **GARBAGE[kind])
        assert not driven.stalls(link, wanted=False)
        write_control(path_in(directory), **GARBAGE[kind])
        assert not driven.stalls(link, wanted=False)
        stats_file = stats_in(directory)
        assert (stats_file["mode"], stats_file["control_seen"]) == (MODE_NUMBERS["auto"], 0)
        good = dict(version=1, mode=0, window_us=0, arm_count=0, assignment=0)
        sequence = write_control(path_in(directory), **good)
        assert driven.stalls(link), "what makes sense again is adopted again"
        assert stats_in(directory)["control_seen"] == sequence
    assert driven.errors.count("unstall:") == 1 and "ignored" in driven.errors


def test_a_block_that_is_never_finished(directory):
    """Its writer died: the sequence stays odd until another tool writes."""
    with AnsweringPeer() as peer, Driven(peer, directory) as driven:
        link = driven.open()
        driven.go(link, 4)
        write_control(path_in(directory), mode=0, garbage=1)
        assert not driven.stalls(link, wanted=False)
        time.sleep(1.1)
        assert not driven.stalls(link, wanted=False)
        row = stats_in(directory).row(role=DESTINATION)
        assert row["exchanges"] == row["messages"] == driven.made
        write_control(path_in(directory), mode=0)
        assert driven.stalls(link)
    assert driven.errors.count("unstall:") == 1 and "unfinished" in driven.errors


def test_a_fork_begins_with_what_is_in_force(directory):
    code = ("import os, socket, sys, time\n"
            "l = socket.create_server(('127.0.0.1', 0))\n"
            "print('ready', flush=True); sys.stdin.readline()\n"
            "c = socket.create_connection(l.getsockname()); c.send(b'x')\n"
            "if os.fork() == 0: c.send(b'y'); os._exit(0)\n"
            "os.wait()\n")
    child = subprocess.Popen(["/usr/bin/python3", "-c", code], text=True, stdin=subprocess.PIPE,
                             env=preload_env("auto", UNSTALL_STATS=directory), stdout=subprocess.PIPE)
    assert child.stdout.readline() == "ready\n"
    write_control(path_in(directory), mode=0)
    child.communicate("\n", timeout=20)
    _, forked = stats_files_in(directory)
    assert (forked["mode"], forked["control"]["mode"], forked["control"]["sequence"]) == (0, 0, 0)
    assert forked.row(role=DESTINATION)["mode"] == 0


# ---- arms -----------------------------------------------------------------


def arms_of(directory, peer, count, mode="auto", **variables):
    """The arms of `count` connections, in the order in which they were made."""
    run([program("stats_exchanges"), *peer.target, 1, count, 1],
        preload_env(mode, UNSTALL_STATS=directory, **variables))
    stats_file = stats_in(directory)
    stats_file.path.unlink()
    records = sorted(stats_file["records"], key=lambda record: record["serial"])
    assert len(records) == count
    return [record["arm"] for record in records]


def test_a_seed_makes_it_repeatable(directory):
    with AnsweringPeer() as peer:
        first, again, other = (arms_of(directory, peer, 64, UNSTALL_ARMS="off:50,auto:50", UNSTALL_SEED=seed)
                               for seed in (7, 7, 8))
        unseeded = [arms_of(directory, peer, 64, UNSTALL_ARMS="off:50,auto:50") for _ in range(2)]
    assert first == again and first != other
    assert unseeded[0] != unseeded[1]
    assert set(first) == {0, 1} and 16 <= sum(first) <= 48


def test_the_stall_is_in_the_off_arm_alone(directory):
    """Every connection goes by its arm's mode from its first message on."""
    def attempt():
        emptied(directory)
        with AnsweringPeer() as peer:
            run([program("stats_exchanges"), *peer.target, 2, 6, 8],
                preload_env("off", UNSTALL_STATS=directory, UNSTALL_ARMS="off:50,auto:25,nodelay:25",
                            UNSTALL_SEED=3))
        stats_file = stats_in(directory)
        assert stats_file["control"]["arms"] == [[0, 50], [5, 25], [2, 25]]
        assert {record["arm"] for record in stats_file["records"]} == {0, 1, 2}
        for row in stats_file.rows:
            assert row["mode"] == (0, 5, 2)[row["arm"]] and row["role"] == DESTINATION
            stalled = sum(n for lowest, n in row["exchange"] if lowest > STALL_MS * 1_000_000)
            if row["arm"] == 0:
                assert stalled >= row["exchanges"] // 2, row
            else:
                assert stalled < row["exchanges"] // 4, row
        for record in stats_file["records"]:
            assert record["exchanges"] == 8
    patiently(attempt)  # on a busy machine more of the few exchanges of an arm are late


def test_by_peer_and_by_listener(directory):
    sources = [f"127.0.0.{n}" for n in range(2, 34)]
    with AnsweringPeer() as peer, Driven(peer, directory, UNSTALL_ARMS="off:1,auto:1", UNSTALL_SEED=5,
                                         UNSTALL_ASSIGN="peer") as driven:
        for source in sources[:4]:
            driven.go(driven.open(source), 1)
        assert len({record["arm"] for record in stats_in(directory)["records"]}) == 1, "one peer, one arm"
    path_in(directory).unlink()
    server = ("import socket, sys, threading\n"
              "l = socket.create_server(('0.0.0.0', 0)); print(l.getsockname()[1], flush=True)\n"
              "def serve(c):\n"
              "    while c.recv(300): c.send(b'a')\n"
              "while True:\n"
              "    c, _ = l.accept(); threading.Thread(target=serve, args=(c,), daemon=True).start()\n")
    for assign, most in (("peer", 2), ("listener", 1)):
        with spawned(["/usr/bin/python3", "-c", server], preload_env("auto", UNSTALL_STATS=directory,
                     UNSTALL_ARMS="off:1,auto:1", UNSTALL_SEED=5, UNSTALL_ASSIGN=assign),
                     stdout=subprocess.PIPE) as child:
            port = int(child.stdout.readline())
            clients = "import socket, sys\nfor a in sys.argv[2:] * 2:\n" \
                      "    s = socket.create_connection(('127.0.0.1', int(sys.argv[1])),\n" \
                      "                                 source_address=(a, 0))\n" \
                      "    s.send(b'q'); s.recv(1); s.close()\n"
            subprocess.run(["/usr/bin/python3", "-c", clients, str(port), *sources], check=True, timeout=30)
            stats_file = stats_in(directory)
        arms = {}
        for record in stats_file["records"]:
            arms.setdefault(record["peer"]["bytes"], set()).add(record["arm"])
        assert len(arms) == len(sources) and all(len(arm) == 1 for arm in arms.values())
        assert len({arm for each in arms.values() for arm in each}) == most
        assert all(row["role"] == LISTENER for row in stats_file.rows)
        stats_file.path.unlink()


def test_arms_by_the_control_block_take_new_connections_alone(directory):
    with AnsweringPeer() as peer, Driven(peer, directory, "off") as driven:
        old = driven.open()
        assert driven.stalls(old)
        write_control(path_in(directory), arm_count=1, mode0=MODE_NUMBERS["nodelay"], weight0=1, seed=4)
        assert driven.stalls(old), "made before"
        new = driven.open()
        assert not driven.stalls(new, wanted=False)
        write_control(path_in(directory), killed=1)
        assert driven.stalls(new) and driven.stalls(old), "the kill switch"
        killed = driven.open()
        assert driven.stalls(killed)
        write_control(path_in(directory), killed=0)
        assert not driven.stalls(new, wanted=False) and driven.stalls(old)
        write_control(path_in(directory), arm_count=0)
        assert driven.stalls(new), "an experiment that is over"
    arms = [record["arm"] for record in sorted(stats_in(directory)["records"], key=lambda r: r["serial"])]
    assert arms == [NO_ARM, 0, 0]


def test_an_arm_is_given_however_a_connection_is_made(directory):
    """An option before connect, or a slow connect, must not leave it with the process's mode."""
    code = ("import select, socket, sys, time\n"
            "target = (sys.argv[1], int(sys.argv[2]))\n"
            "early = socket.socket(); early.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 0)\n"
            "early.connect(target)\n"
            "slow = socket.socket(); slow.setblocking(False); slow.connect_ex(target)\n"
            "slow.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 0)\n"
            "select.select([], [slow], []); slow.setblocking(True)\n"
            "for link in (early, slow):\n"
            "    times = []\n"
            "    for _ in range(9):\n"
            "        began = time.monotonic(); link.send(b'h' * 200); link.send(b'b' * 100); link.recv(200)\n"
            "        times.append(time.monotonic() - began)\n"
            "    print(sorted(times)[4] * 1000)\n")

    def slower_ms(assign):
        with AnsweringPeer() as peer:
            done = run(["/usr/bin/python3", "-c", code, *peer.target],
                       preload_env("off", UNSTALL_STATS=directory, UNSTALL_ARMS="nodelay:1",
                                   UNSTALL_ASSIGN=assign))
        stats_file = stats_in(directory)
        assert stats_file.row(arm=0)["connections"] == 2
        stats_file.path.unlink()
        early, slow = done.stdout.split()
        return max(float(early), float(slow))

    for assign in ("connection", "peer", "listener"):
        assert least(lambda assign=assign: slower_ms(assign), STALL_MS) < STALL_MS, assign


def test_arms_work_without_a_segment():
    """Live control alone needs UNSTALL_STATS."""
    done = run_judged(program("put_write"), "off", 12, cured=True, UNSTALL_ARMS="nodelay:1")
    assert not done.stalls and done.stderr == ""
    assert run_judged(program("put_write"), "auto", 12, cured=False, UNSTALL_ARMS="off:1").stalls


@pytest.mark.parametrize("value", ["", "auto", "auto:", "auto:0", "auto:1001", "auto:1,", ",auto:1", "best:1",
                                   "auto:1x", "auto:-1", "off:1,off:1,off:1,off:1,off:1,off:1,off:1"])
def test_bad_arms_are_said_and_ignored(value):
    done = run_judged(program("put_write"), "auto", 12, UNSTALL_ARMS=value)
    assert not done.stalls
    assert f"UNSTALL_ARMS={value}: expected up to 6 modes with weights" in done.stderr
    assert done.stderr.count("unstall:") == 1


def test_coalesce_as_an_arm(directory):
    with AnsweringPeer() as peer:
        done = run_client(program("child_writes_body"), "off", *peer.target, 12, UNSTALL_STATS=directory,
                          UNSTALL_ARMS="coalesce:1")
        assert bytes(peer.connections[0].received) == pattern(len(peer.connections[0].received))
    assert done.facts["loaded"]
