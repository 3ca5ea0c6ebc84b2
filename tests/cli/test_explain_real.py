# SPDX-License-Identifier: MIT
"""explain on captures and strace logs of real programs, against these programs' own measurements.

An exchange has stalled if bytes were held back after its last write and it took more than 30 ms. Where the
server writes in pieces, the time alone must tell.
"""

import contextlib
import json
import os
import re
import signal
import subprocess
import time

import pytest
from stats_files import PROGRAMS

from harness import bare_env, patiently, skip, spawned, unstall
from harness.capture import begin_capture, end_capture

PYTHON = "/usr/bin/python3"
PEERS = PROGRAMS / "explain_peers.py"
SLOW_MS = 30


@contextlib.contextmanager
def serving(behaviour):
    """A server of explain_peers.py; gives its port and its process id."""
    with spawned([PYTHON, "-B", PEERS, "serve", behaviour], stdout=subprocess.PIPE) as process:
        yield int(process.stdout.readline()), process.pid


def client(behaviour, port, count, before=()):
    """The time of each exchange, in ms, and the bytes held back."""
    done = subprocess.run([*before, PYTHON, "-B", PEERS, behaviour, str(port), str(count)],
                          env=bare_env(), check=True, stdout=subprocess.PIPE, timeout=60)
    return json.loads(done.stdout)


def stalled(exchanges, by_server=False):
    """The times of the stalled exchanges."""
    return [took for took, held in exchanges if took > SLOW_MS and (held or by_server)]


def is_quiet(truth):
    """On a machine with more to do, programs feel much that is on no wire."""
    return max(truth) < 56


# ---- captures

@contextlib.contextmanager
def captured(path, port, interface="lo"):
    """tcpdump on loopback while the body runs."""
    words = ["tcpdump", "-i", interface, "--immediate-mode", "-U", "-s", "96", "-w", path, "tcp", "port",
             str(port)]
    with spawned(words, stderr=subprocess.PIPE) as process:
        before = begin_capture(process)
        if before is None:
            skip("tcpdump may not capture here")
        yield
        end_capture(process, before)


def explained(path):
    done = unstall("explain", "--json", path, check=True)
    (result,) = json.loads(done.stdout)
    return result


def run_captured(tmp_path, behaviour, server, count, **more):
    path = tmp_path / "capture.pcap"
    with serving(server) as (port, _), captured(path, port, **more):
        times = client(behaviour, port, count)
    return times, explained(path)


def agrees(found, truth):
    """Within 5 % of the number; 10 % or a jiffy a stall of the time, and never more than was felt."""
    assert truth, "nothing has stalled: a quickack route?"
    assert abs(found["stalls"] - len(truth)) <= 0.05 * len(truth) + 0.5, (found, truth)
    assert 30 * found["stalls"] < found["total_ms"] < 1.1 * sum(truth) + 60
    if is_quiet(truth):
        assert abs(found["total_ms"] - sum(truth)) <= max(0.1 * sum(truth), 4 * len(truth))


def log_agrees(found, truth):
    """The same of a log: on a busy machine waits last longer than their timer."""
    if is_quiet(truth):
        agrees(found, truth)
    assert len(truth) / 2 <= found["stalls"] <= len(truth)


@pytest.mark.parametrize("interface", ["lo", "any"])
@pytest.mark.parametrize("behaviour, server, side", [
    ("in-pieces", "fast", "client"), ("mixed", "fast", "client"), ("in-one", "answers-in-pieces", "server")])
def test_captured_stalls_are_those_that_the_client_felt(tmp_path, behaviour, server, side, interface):
    def attempt():
        times, found = run_captured(tmp_path, behaviour, server, 30, interface=interface)
        agrees(found, stalled(times, side == "server"))
        assert [writer["side"] for writer in found["writers"]] == [side]

    patiently(attempt)  # a busy client feels what is on no wire


@pytest.mark.parametrize("behaviour, server, count", [
    ("in-one", "fast", 300), ("nodelay", "fast", 300), ("in-one", "slow", 15), ("nodelay", "slow", 15),
    ("in-one", "reads-late", 15), ("pausing", "fast", 15), ("bulk", "sink", 20), ("typing", "fast", 3)])
def test_nothing_is_claimed_of_captures_without_a_stall(tmp_path, behaviour, server, count):
    def attempt():
        _, found = run_captured(tmp_path, behaviour, server, count)
        assert found["segments"] > 20
        assert (found["stalls"], found["writers"]) == (0, []), found

    patiently(attempt, 2)  # a busy machine acknowledges later than the program pauses: then Nagle holds


# ---- logs of strace

FORMS = {"-tt -T": ["-f", "-tt", "-T"], "-ttt -T": ["-f", "-ttt", "-T"], "-tt": ["-f", "-tt"],
         "-r": ["-f", "-r"], "-tt -T -yy": ["-f", "-tt", "-T", "-yy"], "-tt -y": ["-f", "-tt", "-y"],
         "one process": ["-tt", "-T"], "nanoseconds": ["-f", "--absolute-timestamps=format:unix,precision:ns",
                                                      "--syscall-times=ns"],
         "numbers and pointers": ["-f", "-tt", "-T", "-n", "-i"], "names": ["-f", "-tt", "-Y"]}


def run_straced(tmp_path, behaviour, server, count, options=("-f", "-tt", "-T")):
    path = tmp_path / "strace.log"
    with serving(server) as (port, _):
        times = client(behaviour, port, count, ["strace", *options, "-s", "64", "-o", path])
    return times, explained(path), port


# A log tells a stall by its length, from 35 to 60 ms.  On a busy machine another recording is made.

@pytest.mark.parametrize("form", FORMS)
def test_each_form_of_a_log_shows_the_stalls(tmp_path, form):
    def attempt():
        times, found, port = run_straced(tmp_path, "in-pieces", "fast", 20, FORMS[form])
        log_agrees(found, stalled(times))
        assert found["verdict"]["likely"]
        (writer,) = found["writers"]
        assert (writer["side"], writer["service"]) == ("client", f"127.0.0.1:{port}")

    patiently(attempt)


def test_messages_in_one_piece_are_what_a_log_is_compared_with(tmp_path):
    def attempt():
        times, found, _ = run_straced(tmp_path, "mixed", "fast", 30)
        log_agrees(found, stalled(times))
        assert "messages in one write" in found["writers"][0]["evidence"]

    patiently(attempt)


@pytest.mark.parametrize("behaviour, server", [
    ("in-one", "fast"), ("nodelay", "fast"), ("in-one", "slow"), ("nodelay", "slow"),
    ("in-one", "reads-late"), ("pausing", "fast"), ("typing", "fast")])
def test_nothing_is_claimed_of_logs_without_a_stall(tmp_path, behaviour, server):
    def attempt():
        _, found, _ = run_straced(tmp_path, behaviour, server, 4 if behaviour == "typing" else 15)
        assert (found["stalls"], found["writers"]) == (0, []), found
        assert found["connections"] == 1

    patiently(attempt)


def run_watched(path, options):
    with serving("answers-in-pieces") as (port, pid):
        words = ["strace", *options, "-o", path, "-p", str(pid)]
        with spawned(words, stderr=subprocess.PIPE) as strace:
            assert "attached" in strace.stderr.readline()
            times = client("in-one", port, 20)
            time.sleep(0.3)
            strace.send_signal(signal.SIGINT)
            strace.wait(60)
    return times, explained(path)


@pytest.mark.parametrize("options", [["-f", "-tt", "-T"], ["-f", "-tt", "-T", "-yy"]],
                         ids=["bare", "decorated"])
def test_a_running_server_is_watched(tmp_path, options):
    """strace -p: the creation of its connections is not in the log, its answers come in pieces."""
    def attempt():
        times, found = run_watched(tmp_path / "server.log", options)
        (writer,) = found["writers"]
        assert (writer["side"], writer["bound"]) == ("server", True)
        truth = stalled(times, by_server=True)
        assert len(truth) * (0.85 if is_quiet(truth) else 0.5) <= found["stalls"] <= len(truth) + 2

    patiently(attempt)


def test_the_report_of_a_log_names_the_program_and_what_to_type(tmp_path):
    path = tmp_path / "strace.log"
    os.symlink(PEERS, tmp_path / "c.py")

    def attempt():
        with serving("fast") as (port, _):
            words = ["strace", "-f", "-tt", "-T", "-o", path, "python3", "c.py", "in-pieces", str(port), "10"]
            environment = {**bare_env(), "PATH": "/usr/bin:/bin"}
            subprocess.run(words, env=environment, cwd=tmp_path, check=True, stdout=subprocess.DEVNULL)
        text = unstall("explain", path, check=True).stdout
        assert re.search(r"^Likely [1-9] stalls", text, re.MULTILINE)
        assert f"    unstall run -- python3 c.py in-pieces {port} 10\n" in text
        assert f"tcp port {port}" in text
        assert max(map(len, text.splitlines()[1:])) <= 80

    patiently(attempt)
