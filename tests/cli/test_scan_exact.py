# SPDX-License-Identifier: MIT
"""The source exact: within 2 % of the truth, in order, with two capabilities only; nothing stays of it."""

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import threading
import time
from pathlib import Path

import pytest
from test_scan import (SOURCES, Actor, authors_at_work, far_apart, need, row_of, scan_beside, scan_until_told,
                       scanning)

from harness import (COMMAND, AnsweringPeer, bare_env, command_of_everybody, need_root, patiently, run,
                     unstall, wait_for, with_capabilities, within)
from harness.capture import captured

SENDERS = 5


@pytest.fixture(autouse=True, scope="module")
def it_may_be_used():
    need("exact")


# ---- the numbers ------------------------------------------------------------------


def test_two_hundred_stalls_are_counted_and_timed_within_2_percent():
    """A stall begins at the second write.  The capture sees no write: there it begins at the first segment,
    some 0.05 ms earlier."""
    def attempt():
        with scanning("--source", "exact") as told:
            actors = [Actor("stall", 2, waits=True) for _ in range(SENDERS)]
            with captured(*(actor.port for actor in actors)) as capture:
                for actor in actors:
                    actor.begin()
                for actor in actors:
                    actor.exchanges()
            report = told()
        rows = [row_of(report, actor.pid) for actor in actors]
        truth = capture.stalls()
        assert len(truth) > 150
        assert abs(sum(row["stalls"] for row in rows) - len(truth)) <= 0.02 * len(truth)
        lost_ms = sum(truth) / 1e6
        assert abs(sum(row["lost_ms"] for row in rows) - lost_ms) <= 0.02 * lost_ms

    patiently(attempt)  # a busy machine stops a program between its writes


def test_what_was_not_seen_is_no_all_clear():
    """The kernel tells no segment that arrives behind the peer's FIN.  A server that answers such a client in
    pieces stalled, unseen, under "every stall was seen"."""
    def attempt():
        actor = Actor("behind-a-fin", 9, waits=True)
        with scanning("--source", "exact", "--port", actor.port) as told:
            actor.begin()
            stalls = actor.exchanges()
            report = told()
        assert stalls >= 30
        assert stalls / 2 <= report["lost_events"] <= 90 and report["rows"] == []  # it began a moment later
        assert report["verdict"]["because"] == "not every event of the kernel was seen"
        assert "not every stall was seen;" in report["how"]

    patiently(attempt)


def test_the_heaviest_comes_first():
    def attempt():
        with scanning("--source", "exact") as told:
            actors = [Actor("stall", 1.5, rate) for rate in (4, 0, 12)]
            for actor in actors:
                actor.exchanges()
            report = told()
        ours = [row["process"]["pid"] for row in report["rows"]
                if row["process"] and row["process"]["pid"] in [actor.pid for actor in actors]]
        now_and_then, always, often = (actor.pid for actor in actors)
        assert ours == [always, often, now_and_then]
        lost = [row["lost_ms"] for row in report["rows"]]
        assert lost == sorted(lost, reverse=True)

    patiently(attempt)  # on a busy machine the scan may begin later than the programs end


@pytest.fixture(name="others")
def sixty_other_processes_that_stall():
    """They make more sends than a scan keeps of a host in a second, in more processes than it names."""
    with contextlib.ExitStack() as ended:
        yield [ended.enter_context(Actor("stall")) for _ in range(60)]


def test_the_places_that_were_asked_for_are_named_beside_many_others(tmp_path, others):
    """The sends of the others were kept in their place, and the report named no place."""
    with authors_at_work(tmp_path) as process:
        for wanted in (["--pid", process.pid], ["--port", process.args[2]]):
            done = scan_until_told(
                lambda seconds, wanted=wanted: unstall("scan", "--json", "--source", "exact",
                                                       "--time", seconds, *wanted),
                lambda done: json.loads(done.stdout)["places"])
            told = json.loads(done.stdout)
            assert [place["pid"] for place in told["places"]] == [process.pid], wanted
    assert all(actor.process.poll() is None for actor in others)


# ---- what holds data back too ----------------------------------------------------------


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("cwnd", [1, None])
def test_data_that_the_congestion_window_holds_back_is_no_stall(source, cwnd):
    """With a window of one segment TCP_NODELAY would cure nothing."""
    route = ["cwnd", "lock", cwnd] if cwnd else []

    def attempt():
        with far_apart(*route) as (sender, _):
            def scan(seconds):
                return scan_beside(sender, "--json", "--source", source, seconds=seconds)

            told = json.loads((scan(2) if cwnd else scan_until_told(scan)).stdout)
            sockets = subprocess.run(within(sender, "ss", "-tin"), capture_output=True, text=True, check=True)
        assert (re.search(r"\bcwnd:(\d+)", sockets.stdout).group(1) == "1") is (cwnd == 1)
        assert bool(row_of(told, sender.pid)) is (cwnd is None)

    patiently(attempt, 1 if cwnd else 5)  # on a busy machine samples may miss a stall


# ---- nothing is touched -----------------------------------------------------------------


def programs_of(pid):
    """The ids of the BPF programs to which this process has descriptors."""
    found = set()
    for info in Path(f"/proc/{pid}/fdinfo").iterdir():
        with contextlib.suppress(OSError):
            lines = info.read_text(encoding="ascii", errors="replace").splitlines()
            found |= {int(line.split()[1]) for line in lines if line.startswith("prog_id:")}
    return found


def programs_there():
    shown = subprocess.run(["bpftool", "-j", "prog", "show"], capture_output=True, text=True, check=True)
    return {program["id"] for program in json.loads(shown.stdout)}


def test_a_killed_scan_leaves_no_program_and_the_process_as_it_was():
    def tracer():
        status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
        return next(line for line in status.splitlines() if line.startswith("TracerPid"))

    def talk():
        while not stop.is_set():
            client.send(b"p" * 200)
            client.send(b"p" * 100)
            client.recv(200, socket.MSG_WAITALL)

    def loaded():
        """Its programs.  libbpf loads others for a moment, to learn what the kernel can do."""
        found = programs_of(scan.pid)
        return found if len(found) >= 2 and found <= programs_there() else None

    stop, before = threading.Event(), tracer()
    with AnsweringPeer() as peer, socket.create_connection(("127.0.0.1", peer.port)) as client:
        thread = threading.Thread(target=talk)
        thread.start()
        scan = subprocess.Popen([COMMAND, "scan", "--source", "exact", "--time", "60", "--pid",
                                 str(os.getpid())], env=bare_env(), stdout=subprocess.DEVNULL)
        try:
            ours = wait_for(loaded)
            time.sleep(0.3)  # some stalls
            assert tracer() == before
        finally:
            scan.send_signal(signal.SIGKILL)
            scan.wait()
            stop.set()
            thread.join()
        wait_for(lambda: not ours & programs_there())
        assert tracer() == before and not client.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


# ---- rights, and what the kernel says ------------------------------------------------------


@pytest.mark.parametrize("capabilities, works", [(["bpf", "perfmon"], True), (["bpf"], False),
                                                 (["perfmon"], False)])
def test_two_capabilities_are_enough(capabilities, works):
    need_root("may give capabilities")
    with command_of_everybody() as command, Actor("stall") as actor:
        def scan(seconds):
            return run([*with_capabilities(*capabilities), command, "scan", "--json", "--source", "exact",
                        "--time", str(seconds), "--port", str(actor.port)], bare_env(), check=False, cwd="/")
        done = scan_until_told(scan) if works else scan(1)
    if works:
        assert (done.returncode, done.stderr) == (1, "")
        row = row_of(json.loads(done.stdout), actor.pid)
        assert row["stalls"] > 5 and row["process"]["program"].startswith("python3")
    else:
        assert (done.returncode, done.stdout) == (125, "")
        assert done.stderr == ("unstall scan: --source exact: it needs CAP_BPF and CAP_PERFMON, for "
                               "instance as root; --source sampled needs no privilege\n")


def test_a_refusal_of_the_kernel_is_one_line_and_its_log_is_for_verbose_2():
    """RLIMIT_NOFILE leaves no descriptor for the programs."""
    def refused(*words):
        return run(["prlimit", "--nofile=5", COMMAND, "scan", "--source", "exact", "--time", "0.1", *words],
                   bare_env(), check=False)
    done = refused()
    assert done.returncode == 125 and done.stderr.count("\n") == 1 and "--verbose 2" in done.stderr
    assert "libbpf" not in done.stderr and "libbpf" in refused("--verbose", "2").stderr
    assert unstall("scan", "--source", "exact", "--time", "0.1").stderr == ""
