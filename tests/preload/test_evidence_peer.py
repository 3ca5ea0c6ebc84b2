# SPDX-License-Identifier: MIT
"""The peer's stall, where the peer cannot be cured: the reading side sees and cures it (UNSTALL_QUICKACK)."""

import socket
import statistics
import tempfile
import time
from pathlib import Path

import pytest

from harness import (DESTINATION, LISTENER, STALL_MS, AnsweringPeer, least, patiently, preload_env, program,
                     read_reports, report_pattern, run_strace, run_with_peer, stats_directory, stats_in,
                     started_server)

COUNT = 30


def exchange(port, pieces, count=COUNT, pause=0):
    """A bare client that sends each message in pieces; gives the time of each exchange in ms."""
    times = []
    with socket.create_connection(("127.0.0.1", port), timeout=20) as sock:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, pause > 0)  # only its own pauses, then
        for _ in range(count):
            begin = time.monotonic()
            for piece in pieces:
                sock.sendall(b"q" * piece)
                time.sleep(pause)
            got = 0
            while got < 200:
                data = sock.recv(200 - got)
                assert data
                got += len(data)
            times.append((time.monotonic() - begin) * 1000)
    return times


def served(tmp_path, pieces, mode="auto", pause=0, count=COUNT, **variables):
    """Times that a bare client sees of our preloaded server, and the server's report."""
    with started_server([program("server_reading")], mode, UNSTALL_REPORT=report_pattern(tmp_path),
                        **variables) as (_, port):
        times = exchange(port, pieces, count, pause)
    (report,) = read_reports(tmp_path)
    return times, report


@pytest.mark.parametrize("mode", ["observe", "nodelay", "cork", "coalesce", "auto"])
def test_auto_cures_a_stalling_peer_after_two_stalls(mode, tmp_path):
    times, report = served(tmp_path, [200, 100], mode, UNSTALL_QUICKACK="auto")
    assert statistics.median(times) < STALL_MS
    assert sum(t > 20 for t in times) <= COUNT // 3  # two that show it, and the machine's share
    assert 2 <= report["peer_stalls"] <= COUNT // 3
    assert report["peer_stall_ns"] >= report["peer_stalls"] * 30e6
    assert report["quickacks"] > 0
    assert report["quickack_saved_ns"] > 15 * 30e6


def test_without_it_the_stalls_are_there_and_counted(tmp_path):
    times, report = served(tmp_path, [200, 100], "observe")
    stalled = [t for t in times if t > 20]
    assert statistics.median(times) > 30
    # A busy machine makes some longer than 60 ms, which are not counted.
    assert COUNT // 3 <= report["peer_stalls"] <= len(stalled) + 2
    assert 30e6 * report["peer_stalls"] <= report["peer_stall_ns"] <= 60e6 * report["peer_stalls"]
    assert report["quickacks"] == 0


def test_always_acts_from_the_start(tmp_path):
    def claims():
        """What is said of stalls: a peer that is kept from the processor for 40 ms looks like one."""
        times, report = served(Path(tempfile.mkdtemp(dir=tmp_path)), [200, 100], UNSTALL_QUICKACK="always")
        assert statistics.median(times) < STALL_MS and report["quickacks"] >= COUNT
        return report["peer_stalls"] + report["quickack_saved_ns"]

    assert least(claims, 1) == 0


def test_off_is_off_in_mode_off(tmp_path):
    times, report = served(tmp_path, [200, 100], "off", UNSTALL_QUICKACK="always")
    assert statistics.median(times) > 30
    assert report["quickacks"] == 0


@pytest.mark.parametrize("pieces, pause", [([300], 0), ([300], 0.044), ([100, 100, 100], 0.003)])
def test_a_healthy_or_merely_slow_peer_is_not_called_stalling(pieces, pause, tmp_path):
    """A peer that is kept from the processor for 40 ms, twice, cannot be told from one that stalls."""
    def claims():
        with tempfile.TemporaryDirectory(dir=tmp_path) as folder:
            _, report = served(Path(folder), pieces, UNSTALL_QUICKACK="auto", pause=pause, count=15)
        return report["peer_stalls"] + report["quickacks"]

    assert least(claims, 1) == 0


def test_where_it_does_not_help_it_is_given_up(tmp_path):
    """The peer itself waits for 45 ms between header and body: no acknowledgement can hurry it."""
    def attempt():
        folder = Path(tempfile.mkdtemp(dir=tmp_path))
        with started_server([program("server_reading")], "auto", UNSTALL_REPORT=report_pattern(folder),
                            UNSTALL_QUICKACK="auto") as (_, port):
            with socket.create_connection(("127.0.0.1", port), timeout=20) as sock:
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                for _ in range(20):
                    sock.sendall(b"q" * 200)
                    time.sleep(0.045)
                    sock.sendall(b"q" * 100)
                    got = 0
                    while got < 200:
                        got += len(sock.recv(200 - got))
        (report,) = read_reports(folder)
        # There are 40 parts of messages.  A busy machine makes some pauses too long to tell anything.
        assert report["quickacks"] <= 20 and report["quickack_saved_ns"] == 0
    patiently(attempt)  # a server that reads the header late waits less for the body


def test_a_healthy_connection_gets_no_call_more():
    with AnsweringPeer() as peer:
        trace = run_strace([program("put_write"), *peer.target, 12],
                           preload_env("nodelay", UNSTALL_QUICKACK="auto"))
    assert [call for call in trace.calls if call.has("TCP_QUICKACK")] == []


class StallingPeer(AnsweringPeer):
    """Answers in two small writes."""

    def serve(self, connection):
        while connection.take(self.request) is not None:
            connection.socket.sendall(self.reply[:120])
            connection.socket.sendall(self.reply[120:])


def test_the_calls_of_a_cured_connection():
    """Two stalls, each looked at once; from then on one TCP_QUICKACK for each part that comes."""
    with StallingPeer() as peer:
        trace = run_strace([program("one_write"), *peer.target, 12],
                           preload_env("nodelay", UNSTALL_QUICKACK="auto"))
    names = [["quickack" if call.has("TCP_QUICKACK") else "info" if call.has("TCP_INFO") else call.name
              for call in trace.after(index) if call.fd == 3] for index in range(12)]
    stalls = [index for index in range(12) if "info" in names[index]]
    assert len(stalls) >= 2
    for index in range(12):
        assert names[index].count("quickack") <= (names[index].count("read") if index > stalls[1] else 0)
    # A reader that comes late finds both parts.
    assert names.count(["write", "read", "quickack", "read", "quickack"]) >= 3


@pytest.mark.parametrize("value", [0, 1])
def test_an_application_that_sets_it_itself_is_left_alone(value, tmp_path):
    run_with_peer("app_quickack", "nodelay", 12, value, UNSTALL_QUICKACK="always",
                  UNSTALL_REPORT=report_pattern(tmp_path))
    (report,) = read_reports(tmp_path)
    assert report["quickacks"] == 0


# ---- the application's own time ---------------------------------------------

def test_what_the_application_spends_before_its_first_write_is_its_own():
    """connect without waiting, 300 ms of work once it is connected: as a slow start of TLS looks like."""
    def attempt():
        with stats_directory() as directory:
            run_with_peer("late_first_write", "observe", 6, UNSTALL_STATS=directory)
            row = stats_in(directory).row(role=DESTINATION)
        assert row["first_writes"] == 1 and 290e6 <= row["first_write_ns"] < 750e6
        assert row["stalls_proved"] == 0 and row["exchange_ns"] < 400e6
    patiently(attempt)


def test_what_a_peer_takes_for_its_message_is_not_the_applications():
    """Input to the answer: from the last of the input, though the first part of it came 44 ms before."""
    def answer_ns():
        with stats_directory() as directory:
            with started_server([program("server_reading")], "observe", UNSTALL_STATS=directory) as (_, port):
                exchange(port, [200, 100])
            row = stats_in(directory).row(role=LISTENER)
        assert row["peer_stalls"] >= COUNT // 3 and row["peer_stall_ns"] >= 30e6 * row["peer_stalls"]
        assert row["answers"] == COUNT
        return row["answer_ns"]

    assert least(answer_ns, 15e6 * COUNT) < 15e6 * COUNT
