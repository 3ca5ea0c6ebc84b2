# SPDX-License-Identifier: MIT
"""A small write stalls behind the bytes of an earlier message, too, if these are not acknowledged yet.

The input in between may be older than those bytes: a peer with two requests under way sends the second before
it has the first answer.  Or it answers an earlier message than the last one.  auto, nodelay and coalesce left
such a stall as it was, and observe said that there was none, because a read ended the message.

Not each exchange of a connection stalls then: where the modes cure, the delay has to be seen once.
"""

import socket
import time

import pytest

from harness import (CURING_MODES, CrossingPeer, ServerRun, STALL_MS, judged, pattern, program, read_reports,
                     report_pattern, run_client, run_strace, mode_env, started_server, total)

EXCHANGES = 30
REQUEST, BLOCK, ANSWER = 50, 131072, 300
SERVERS = ["exact", "prefixed", "by_head", "by_byte", "waits", "messages", "numbered", "threads", "forks",
           "uncorks", "file", "several", "blocks", "peeks", "apart", "apart_waits",
           "apart_slowly", "apart_spins"]
CLIENTS = ["closes", "late", "within", "subscribes", "fast_open"]
WELL = ["prefixed", "chat", "pipelines"]
ONCE = 3  # stalls that a cured connection may have


def stalls_of(us):
    return sum(n > STALL_MS * 1000 for n in us)


# ---- servers ---------------------------------------------------------------

def two_at_a_time(port, count, how, alone=0):
    """Both requests leave as one segment, or one after the other, behind `alone` that have no second one."""
    seen, request = ServerRun(), b"q" * (BLOCK if how == "blocks" else REQUEST)
    apart = how.startswith("apart")
    with socket.create_connection(("127.0.0.1", port), timeout=20) as sock:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for requests in [1] * alone + [2] * count:
            begin = time.monotonic_ns()
            for piece in [request] * requests if apart else [request * requests]:
                sock.sendall(piece)
                time.sleep(0.001 * apart)
            due = len(seen.received) + requests * ANSWER
            while len(seen.received) < due:
                piece = sock.recv(due - len(seen.received))
                assert piece, "the server closed the connection"
                seen.received += piece
            seen.us.append((time.monotonic_ns() - begin) / 1000)
    return seen


def serves(how, mode, alone=0, **variables):
    def measure():
        with started_server([program("server_pipelined"), how], mode, **variables) as (_, port):
            seen = two_at_a_time(port, EXCHANGES, how, alone)
        assert bytes(seen.received) == pattern(ANSWER * (alone + 2 * EXCHANGES))
        return seen

    return judged(measure, mode in CURING_MODES or how == "together")


@pytest.mark.parametrize("how, mode", [
    (how, mode) for how in SERVERS for mode in ["bare", *CURING_MODES]
    if (how, mode) != ("apart_spins", "cork")])  # it never waits, so no turn ends: the kernel ends the holds
def test_the_server_is_cured(how, mode):
    seen = serves(how, mode)
    assert seen.stalls is (mode == "bare")
    # what spins loses its processor to others for 20 ms now and then
    assert mode == "bare" or how == "apart_spins" or stalls_of(seen.us) <= ONCE


@pytest.mark.parametrize("mode", ["bare", *CURING_MODES])
@pytest.mark.parametrize("alone", [9, 10])
def test_a_client_that_begins_later_to_have_two_under_way(alone, mode):
    """The exchanges before had used up the looks: the modes never cured it, and observe told nothing."""
    seen = serves("prefixed", mode, alone)
    assert seen.stalls is (mode == "bare")
    assert mode == "bare" or stalls_of(seen.us) <= EXCHANGES / 2  # where the eight looks are over: one in 16


@pytest.mark.parametrize("mode", ["bare", *CURING_MODES])
def test_what_the_end_of_a_connection_answers(mode):
    """The stall was seen by the next request only: of a connection that then ended, nobody learned."""
    def measure():
        with started_server([program("server_pipelined"), "briefly"], mode) as (_, port):
            us = [us for _ in range(EXCHANGES) for us in two_at_a_time(port, 2, "briefly").us]
            socket.create_connection(("127.0.0.1", port)).close()
        return stalls_of(us)

    runs = [measure() for _ in range(3)]
    assert max(runs) > EXCHANGES / 2 if mode == "bare" else min(runs) <= ONCE


@pytest.mark.parametrize("how", ["exact", "forks"])
def test_always_cures_the_first_one_too(how):
    """A fork gave the kernel the application's value back, and no process ever set TCP_NODELAY again."""
    for _ in range(5):
        seen = serves(how, "nodelay", UNSTALL_NODELAY="always")
        if stalls_of(seen.us) == 0:
            return
    assert stalls_of(seen.us) == 0


# ---- clients ---------------------------------------------------------------

def asks(way, mode, **variables):
    def measure():
        with CrossingPeer(way == "subscribes") as peer:
            return run_client(program("crossing"), mode, *peer.target, str(EXCHANGES), way, **variables)

    return judged(measure, mode in CURING_MODES or way in WELL)


@pytest.mark.parametrize("mode", ["bare", *CURING_MODES])
@pytest.mark.parametrize("way", CLIENTS)
def test_the_client_is_cured(way, mode):
    done = asks(way, mode)
    assert done.stalls is (mode == "bare")
    assert mode == "bare" or stalls_of(done.facts["us"]) <= ONCE


# ---- what is told ----------------------------------------------------------

def told(folder, run):
    """What the report says of a run; a run on a busy machine may have fewer stalls, so that is repeated."""
    for _ in range(5):
        for old in folder.iterdir():
            old.unlink()
        us = run(UNSTALL_REPORT=report_pattern(folder))
        reports = read_reports(folder)
        found = total(reports, "stalls_proved") + total(reports, "stalls_bound")
        if stalls_of(us) * 0.8 <= found <= stalls_of(us) + 2 and found > EXCHANGES / 2:
            break
    return found, stalls_of(us), reports


@pytest.mark.parametrize("how", SERVERS)
def test_observe_counts_the_stalls_of_the_server(how, tmp_path):
    found, there, _ = told(tmp_path, lambda **more: serves(how, "observe", **more).us)
    assert EXCHANGES / 2 < found and there * 0.8 <= found <= there + 2


@pytest.mark.parametrize("way", CLIENTS)
def test_observe_counts_the_stalls_of_the_client(way, tmp_path):
    found, there, _ = told(tmp_path, lambda **more: asks(way, "observe", **more).facts["us"])
    assert EXCHANGES / 2 < found and there * 0.8 <= found <= there + 2


@pytest.mark.parametrize("mode", ["off", "observe", *CURING_MODES])
def test_a_look_at_what_is_queued_ends_no_message(mode, tmp_path):
    """Coalesce left such a server at 44 ms, and observe said that an answer waited for the one before."""
    with started_server([program("server_pipelined"), "peeks"], mode,
                        UNSTALL_REPORT=report_pattern(tmp_path)) as (_, port):
        two_at_a_time(port, EXCHANGES, "peeks")
    reports = read_reports(tmp_path)
    assert total(reports, "messages") == total(reports, "bursts") == 2 * EXCHANGES


# ---- programs without the stall --------------------------------------------

def nothing_is_told(folder):
    reports = read_reports(folder)
    for key in ("stalls_proved", "stalls_bound", "stalls_suspected", "stalls_cured", "late_pushes"):
        assert total(reports, key) == 0, key


@pytest.mark.parametrize("mode", ["observe", *CURING_MODES])
def test_nothing_is_told_of_or_set_on_a_server_that_answers_together(mode, tmp_path):
    assert not serves("together", mode, UNSTALL_REPORT=report_pattern(tmp_path)).stalls
    if mode not in ("cork", "coalesce"):
        nothing_is_told(tmp_path)


@pytest.mark.parametrize("mode", ["observe", "nodelay", "auto"])
@pytest.mark.parametrize("way", WELL)
def test_nothing_is_told_of_or_set_on_a_client_that_is_well(way, mode, tmp_path):
    assert not asks(way, mode, UNSTALL_REPORT=report_pattern(tmp_path)).stalls
    nothing_is_told(tmp_path)


@pytest.mark.parametrize("mode", ["observe", "nodelay", "auto"])
@pytest.mark.parametrize("way", WELL)
def test_no_call_is_added_where_no_sign_shows(way, mode):
    """Each of their reads gets all that it asked for, but after an answer was waited for."""
    def queries(mode):
        with CrossingPeer() as peer:
            trace = run_strace([program("crossing"), *peer.target, "200", way], mode_env(mode))
        return len([call for call in trace.main if call.name == "getsockopt" and "TCP_INFO" in call.args])

    assert queries(mode) == queries("bare")
