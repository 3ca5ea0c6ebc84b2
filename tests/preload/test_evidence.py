# SPDX-License-Identifier: MIT
"""Stalls that observe proves, against tcpdump's capture of the same run; and none where there is none."""

import socket
import tempfile
import time
from pathlib import Path

import pytest

from harness import (AnsweringPeer, PAUSE, REQUEST, STALL_MS, bare_env, mode_env, preload_env, program,
                     read_reports, patiently, report_pattern, request_all, run, run_client, run_judged,
                     run_strace, run_with_peer, skip, started_server)
from harness.capture import captured

COUNT = 30
ENOUGH = COUNT // 3  # stalls to compare: a peer that a busy machine keeps waiting for 40 ms makes fewer
JIFFY_NS = 10_000_000  # HZ=100, the longest there is


def report_of(folder):
    """The one report of the program under test."""
    (report,) = read_reports(folder)
    return report


def agrees(report, stalls, count="stalls_proved", time_lost="stall_ns"):
    """The count within 5 % (or one of a few), the time within 10 % or a jiffy a stall."""
    assert abs(report[count] - len(stalls)) <= max(1, 0.05 * len(stalls)), (report, stalls)
    assert abs(report[time_lost] - sum(stalls)) <= max(0.1 * sum(stalls), JIFFY_NS * len(stalls), 50e6)


# ---- the truth from outside ------------------------------------------------

def stalls_agree(peer_class, name, folder):
    """The report of a client to such a peer agrees with a capture of the same run.

    An exchange that a busy machine delays may be a stall to one of them and none to the other: then again.
    """
    def attempt():
        reports = Path(tempfile.mkdtemp(dir=folder))
        with peer_class() as peer:
            with captured(peer.port) as capture:
                run_client(program(name), "observe", *peer.target, COUNT,
                           UNSTALL_REPORT=report_pattern(reports))
        stalls = capture.stalls()
        assert len(stalls) >= ENOUGH
        agrees(report_of(reports), stalls)

    patiently(attempt)


@pytest.mark.parametrize("name", ["put_write", "put_sendmsg", "many_small_writes", "reader_thread",
                                  "body_sendfile", "between_poll", "app_nodelay_zero"])
def test_a_clients_stalls_are_those_that_tcpdump_sees(name, tmp_path):
    stalls_agree(AnsweringPeer, name, tmp_path)


def test_a_slow_answer_is_no_part_of_the_stall(tmp_path):
    class Thinking(AnsweringPeer):
        """Thinks for 25 ms before each answer: less than a delayed acknowledgement, which leaves with it."""

        def serve(self, connection):
            while connection.take(self.request) is not None:
                time.sleep(0.025)
                connection.socket.sendall(self.reply)

    stalls_agree(Thinking, "put_write", tmp_path)


@pytest.mark.parametrize("pause", [0, 0.03])
def test_a_servers_stalls_are_known_at_the_next_request(pause, tmp_path):
    """However long the peer thinks in between: when the last bytes left is when the held ones did."""
    def attempt():
        reports = Path(tempfile.mkdtemp(dir=tmp_path))
        with started_server([program("server_accept")], "observe",
                            UNSTALL_REPORT=report_pattern(reports)) as (_, port):
            with captured(port) as capture:
                with socket.create_connection(("127.0.0.1", port), timeout=20) as sock:
                    for _ in range(COUNT):
                        sock.sendall(b"q" * REQUEST)
                        got = 0
                        while got < 300:
                            got += len(sock.recv(300 - got))
                        time.sleep(pause)
        stalls = capture.stalls()
        assert len(stalls) >= ENOUGH
        agrees(report_of(reports), stalls)
        assert report_of(reports)["stalls_bound"] == 0

    patiently(attempt)


def test_the_last_answer_before_a_close_counts_too(tmp_path):
    """One answer a connection does not stall; the third one does, and only the end is read after it."""
    def attempt():
        reports = Path(tempfile.mkdtemp(dir=tmp_path))
        with started_server([program("server_accept")], "observe",
                            UNSTALL_REPORT=report_pattern(reports)) as (_, port):
            with captured(port) as capture:
                request_all(port, 6)
        agrees(report_of(reports), capture.stalls())

    patiently(attempt)  # on a busy machine the stall that one side alone counts takes more than 50 ms


def test_nothing_is_claimed_where_something_else_writes_too(tmp_path):
    """60 ms after the body, which was not held for long, more is written in a way that we do not see."""
    class Quick(AnsweringPeer):
        """Acknowledges at once."""

        def serve(self, connection):
            sock, got = connection.socket, 0
            while True:
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)
                piece = sock.recv(4096)
                if not piece:
                    return
                got += len(piece)
                if got % self.request == 0:
                    sock.sendall(self.reply)

    with Quick(request=350) as peer:
        run_client(program("raw_third"), "observe", *peer.target, 20, UNSTALL_REPORT=report_pattern(tmp_path))
    report = report_of(tmp_path)
    assert report["suspects"] >= 15
    assert (report["stalls_proved"], report["stalls_bound"]) == (0, 0)


def test_a_stream_of_events_is_looked_at_event_by_event(tmp_path):
    """After a few exchanges no input comes: one message without end, in which a pause begins the next event.
    (Linux acknowledges at once where it only reads, so few of them stall.)"""
    class Subscribed(AnsweringPeer):
        """Answers four times and then only reads."""

        def serve(self, connection):
            for _ in range(4):
                connection.take(self.request)
                connection.socket.sendall(self.reply)
            connection.drain()

    def attempt():
        reports = Path(tempfile.mkdtemp(dir=tmp_path))
        with Subscribed() as peer:
            with captured(peer.port) as capture:
                run_client(program("events"), "observe", *peer.target, 16,
                           UNSTALL_REPORT=report_pattern(reports))
        report = report_of(reports)
        assert 14 <= report["suspects"] <= 16
        agrees(report, capture.stalls())

    patiently(attempt)  # a pause of 20 ms within an event makes two of it


# ---- no false alarm --------------------------------------------------------

MIXES = {  # exchanges; few of the slow kinds
    "well-behaved": 2000, "bulk": 300, "bulk-with-tail": 300, "interactive": 2000, "slow-server": 20,
    "nodelay": 1500, "more": 1500, "cork": 500, "acknowledged-at-once": 2000,
    "acknowledged-at-once-slow-server": 20, "paced": 40, "paced-two-writes": 40, "cwnd-limited": 300,
    "slow-reader": 15,
}
WITH_SUSPECTS = {"bulk-with-tail", "acknowledged-at-once", "acknowledged-at-once-slow-server",
                 "paced-two-writes", "cwnd-limited", "slow-reader"}


def test_there_are_ten_thousand_exchanges():
    assert sum(MIXES.values()) >= 10000


# A loopback of its own, on which receivers acknowledge at once.  Otherwise an exchange may really stall on a
# busy machine, because the reader, which acknowledges by reading, waits for a processor.
AT_ONCE = ("ip link set lo up && ip route replace local 127.0.0.1 dev lo table local proto kernel scope host "
           "src 127.0.0.1 quickack 1 && exec \"$@\"")


def run_acknowledged_at_once(argv, **variables):
    alone = ["unshare", "--map-root-user", "--net", "sh", "-c", AT_ONCE, "sh"]
    if run([*alone, "true"], bare_env(), check=False).returncode != 0:
        skip("no network namespace of our own may be made here")
    env = preload_env("observe", **variables)
    run([*alone, "env",
         *(f"{name}={env[name]}" for name in env if name == "LD_PRELOAD" or name.startswith("UNSTALL_")),
         *argv], bare_env())


@pytest.mark.parametrize("mix, count", MIXES.items())
def test_no_stall_is_claimed_where_there_is_none(mix, count, tmp_path):
    run_acknowledged_at_once([program("no_stalls"), mix, count], UNSTALL_REPORT=report_pattern(tmp_path))
    report = report_of(tmp_path)
    assert report["messages"] >= 2 * count
    assert (report["stalls_proved"], report["stalls_bound"], report["stall_ns"]) == (0, 0, 0)
    assert (report["suspects"] > 0) is (mix in WITH_SUSPECTS)


def test_the_same_without_that_loopback_has_stalls(tmp_path):
    """So that the test above would see them."""
    run([program("no_stalls"), "stalling", 20],
        preload_env("observe", UNSTALL_REPORT=report_pattern(tmp_path)))
    assert report_of(tmp_path)["stalls_proved"] >= 12


def test_under_pacing_a_stall_is_suspected_only(tmp_path):
    """At 1000 B/s the 300 bytes take 300 ms by themselves, so pacing explains a hold of up to 1.2 s."""
    run([program("no_stalls"), "paced-stalling", 8],
        preload_env("observe", UNSTALL_REPORT=report_pattern(tmp_path)))
    report = report_of(tmp_path)
    assert report["stalls_proved"] == 0 and report["stalls_suspected"] > 0


def test_on_mptcp_a_stall_is_suspected_only(tmp_path):
    """TCP_INFO there tells about one of several connections."""
    mptcp = getattr(socket, "IPPROTO_MPTCP", 262)
    try:
        socket.socket(socket.AF_INET, socket.SOCK_STREAM, mptcp).close()
    except OSError as error:
        skip(f"no MPTCP in this kernel: {error}")
    with AnsweringPeer(protocol=mptcp) as peer:
        run_client(program("put_write"), "observe", *peer.target, COUNT, mptcp,
                   UNSTALL_REPORT=report_pattern(tmp_path))
    report = report_of(tmp_path)
    assert report["stalls_proved"] == 0 and report["stalls_suspected"] >= ENOUGH


# ---- its cost ---------------------------------------------------------

def infos(calls):
    return [call for call in calls if call.has("TCP_INFO")]


def test_a_suspect_message_costs_two_queries_and_few_others_cost_any():
    with AnsweringPeer() as peer:
        trace = run_strace([program("put_write"), *peer.target, 12], preload_env("observe"))
    for index in range(12):
        calls = trace.after(index)
        others = [call.name for call in calls if call.fd == 3 and not call.has("TCP_INFO")]
        assert others == ["write", "write", "read"]
        # one more behind a burst that did not stall: its last piece may have no answer of its own
        asked = [number for number, call in enumerate(calls) if call.has("TCP_INFO")]
        assert len(asked) <= 3
    names = [[call.name for call in trace.after(index) if call.fd == 3] for index in range(12)]
    assert names.count(["write", "write", "getsockopt", "read", "getsockopt"]) >= 4, "those that stall"
    # the program's own TCP_INFO (facts.segments) is made between exchanges, after PAUSE
    assert all(not infos([call]) or call.name == "getsockopt" for call in trace.after(PAUSE))


@pytest.mark.parametrize("name", ["one_write", "app_nodelay", "app_cork", "app_more"])
def test_a_message_that_cannot_stall_costs_no_query(name):
    with AnsweringPeer() as peer:
        trace = run_strace([program(name), *peer.target, 12], preload_env("observe"))
    for index in range(12):
        assert infos(trace.after(index)) == []


@pytest.mark.parametrize("mode", ["off", "nodelay", "cork", "coalesce", "auto"])
def test_the_other_modes_ask_nothing(mode):
    with AnsweringPeer() as peer:
        trace = run_strace([program("put_write"), *peer.target, 12],
                           preload_env(mode, UNSTALL_WINDOW_US="100000"))
    for index in (0, 3, 5, 6, 9, 10, 11):  # a push of the modes that hold may ask (untracked connections)
        assert len(infos(trace.after(index))) <= (mode in ("cork", "coalesce", "auto"))


# ---- cured -----------------------------------------------------------------

@pytest.mark.parametrize("mode, cured", [("off", 0), ("observe", 0), ("nodelay", COUNT - 1),
                                         ("cork", COUNT - 1), ("coalesce", COUNT - 1), ("auto", COUNT - 1)])
def test_messages_that_were_kept_from_stalling_are_counted(mode, cured, tmp_path):
    """Of a connection all but the first, which does not stall: it was counted too."""
    run_with_peer("put_write", mode, COUNT, UNSTALL_STATS="/dev/shm/none-such", UNSTALL_LOG=tmp_path / "log",
                  UNSTALL_REPORT=report_pattern(tmp_path))
    # a machine that is busy for 40 ms between the two writes has cured that one itself
    assert max(cured - 2, 0) <= report_of(tmp_path)["stalls_cured"] <= cured


@pytest.mark.parametrize("name", ["one_write", "app_nodelay", "app_cork", "app_more"])
def test_nothing_is_cured_where_nothing_was_ill(name, tmp_path):
    run_with_peer(name, "auto", COUNT, UNSTALL_STATS="/dev/shm/none-such", UNSTALL_LOG=tmp_path / "log",
                  UNSTALL_REPORT=report_pattern(tmp_path))
    assert report_of(tmp_path)["stalls_cured"] == 0


def test_bare_is_as_slow_as_observe(tmp_path):
    """The stall that observe proves is there without us as well, and no longer than ours."""
    bare, observed = (run_judged(program("put_write"), mode, COUNT) for mode in ("bare", "observe"))
    assert bare.stalls and abs(observed.median_ms - bare.median_ms) < STALL_MS
    assert mode_env("bare").get("LD_PRELOAD") is None
