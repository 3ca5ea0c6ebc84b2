# SPDX-License-Identifier: MIT
"""The runner can fail: what is wrong with a victim is seen, not passed over."""

import os
import shutil
import socket
import time

import pytest

from harness import AnsweringPeer, LIB, skip
from runner import (BARE, Daemon, Driver, Measurement, OF_ONCE, Observed, Treatment, UNSEEN, Victim, complaints,
                    daemon, load, load_well, may_be_noise, measured, victims, wells, wrong_of_well)
from runner.wells import compare

pytestmark = pytest.mark.no_library

EXCHANGE = Victim("", "client", (), None, segments={"treated": 1})
WHOLE_RUN = Victim("", "client", (), None, whole_run=True)
BARE_RUNS = (52.0,) * 10


@pytest.mark.parametrize("victim, expects, median, segments, judgement", [
    (EXCHANGE, "ill", 44.0, 1, "right"),
    (EXCHANGE, "ill", 0.1, 1, "the stall is not there"),
    (EXCHANGE, "well", 0.1, 1, "right"),
    (EXCHANGE, "well", 44.0, 1, "the stall is still there"),
    (EXCHANGE, "well", 5.1, 1, "the stall is still there"),
    (EXCHANGE, "well", 0.1, 2, "at most 1"),
    (EXCHANGE, "well", 0.1, None, "right"),
    (EXCHANGE, "any", 44.0, 1, "right"),
    (WHOLE_RUN, "ill", 52.0, None, "right"),
    (WHOLE_RUN, "ill", 8.0, None, "no stall fits"),
    (WHOLE_RUN, "ill", 31.0, None, "the stall is not there"),
    (WHOLE_RUN, "well", 8.0, None, "right"),
    (WHOLE_RUN, "well", 50.0, None, "the stall is still there"),
])
def test_a_measurement_is_judged(victim, expects, median, segments, judgement):
    measurement = Measurement((median,) * 10, segments, BARE_RUNS)
    found = complaints(victim, Treatment("treated", expects), measurement)
    if judgement == "right":
        assert not found
    else:
        assert judgement in found[0]


@pytest.mark.parametrize("victim, expects, median, segments, noise", [
    (EXCHANGE, "well", 12.0, 1, True),
    (EXCHANGE, "well", 44.0, 1, False),
    (EXCHANGE, "well", 12.0, 2, False),
    (EXCHANGE, "well", 0.1, 2, False),
    (EXCHANGE, "ill", 12.0, 1, False),
    (WHOLE_RUN, "well", 30.0, None, True),
    (WHOLE_RUN, "well", 50.0, None, False),
])
def test_only_noise_is_measured_again(victim, expects, median, segments, noise):
    measurement, treatment = Measurement((median,) * 10, segments, BARE_RUNS), Treatment("treated", expects)
    found = complaints(victim, treatment, measurement)
    assert found and may_be_noise(victim, treatment, measurement, found) == noise


def test_the_warm_up_is_left_out():
    result = measured([1.0] * 3 + [44.0] * 10, [2, 4, 6] + [6 + 3 * number for number in range(1, 11)])
    assert result.times_ms == (44.0,) * 10 and result.segments == 3


def test_too_few_exchanges_are_refused():
    with pytest.raises(AssertionError, match="too few"):
        measured([44.0] * 5)


def test_a_treatment_that_did_not_reach_the_process_is_seen():
    with pytest.raises(AssertionError, match="not loaded"):
        Treatment("treated", "well", LIB).assert_in(os.getpid())


def test_a_hung_up_answer_is_seen():
    with AnsweringPeer(request=1, reply=10) as peer, Driver(peer.port) as driver:
        driver.exchange(b"x", lambda so_far: len(so_far) >= 10)
        peer.connections[0].socket.shutdown(socket.SHUT_WR)
        with pytest.raises(AssertionError, match="the connection ended"):
            driver.exchange(b"x", lambda so_far: len(so_far) >= 10)


def test_a_daemon_that_does_not_start_is_seen(tmp_path):
    with pytest.raises(AssertionError, match="no such luck"):
        with Daemon(lambda port: ["/bin/sh", "-c", "echo no such luck"], BARE.env(), tmp_path):
            pass


def test_a_strangers_port_is_not_taken_for_the_daemons(tmp_path, monkeypatch):
    with AnsweringPeer() as stranger:
        monkeypatch.setattr(daemon, "free_port", lambda: stranger.port)
        with pytest.raises(AssertionError, match="does not listen"):
            with Daemon(lambda port: ["/bin/sleep", "0.2"], BARE.env(), tmp_path):
                pass


def test_a_daemon_ends_with_its_children(tmp_path):
    if not shutil.which("socat"):
        skip("socat is not installed")

    def command(port):
        return ["socat", f"TCP-LISTEN:{port},bind=127.0.0.1,reuseaddr,fork", "EXEC:sleep 60"]

    with Daemon(command, BARE.env(), tmp_path) as server, Driver(server.port):
        deadline = time.monotonic() + 5
        while len(server.processes()) < 3 and time.monotonic() < deadline:
            time.sleep(0.01)
        pids = server.processes()
        assert len(pids) == 3
    deadline = time.monotonic() + 5  # all are killed, but only the first one is waited for
    while any(map(_runs, pids)) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not [pid for pid in pids if _runs(pid)]


def _runs(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as text:
            return text.read().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


@pytest.mark.parametrize("expects, ratio, right", [("well", 1.05, True), ("well", 1.3, False), ("ill", 400, True)])
def test_the_time_of_sending_once_is_the_measure(expects, ratio, right):
    times = (44.0 if expects == "ill" else 0.1,) * 10
    found = complaints(EXCHANGE, Treatment("treated", expects), Measurement(times, compared={OF_ONCE: ratio}))
    assert not found if right else "sending once" in found[0]


@pytest.mark.parametrize("rates, judgement", [
    ({"treated": 900, "bare": 100, "own cure": 950}, "right"),
    ({"treated": 800, "bare": 100, "own cure": 800}, "under 8.7 times"),
    ({"treated": 900, "bare": 100, "own cure": 1100}, "with its own cure"),
    ({"treated": 900, "bare": 100}, "right"),
])
def test_a_rate_is_judged(rates, judgement):
    found = complaints(EXCHANGE, Treatment("treated", "well"), Measurement((0.1,) * 10, rates=rates))
    assert not found if judgement == "right" else judgement in found[0]


STALLS = "it sends each message in two small writes"


def report(kind="stalls", role="destination", sentence=f"x loses 44 ms: {STALLS}", proved=10, **claims):
    row = {"stalls_proved": proved, "stalls_bound": 0, "stalls_suspected": 0, "peer_stalls": 0, "exchanges": 10,
           **claims}
    return Observed(kind, sentence, (), role, row, {name: row[name] for name in row if name != "exchanges"})


@pytest.mark.parametrize("found, expected, judgement", [
    (report(), STALLS, "right"),
    (report(proved=0, stalls_bound=9), STALLS, "right"),
    (report(proved=5), STALLS, "5 stalls are told"),
    (report(proved=40), STALLS, "40 stalls are told"),
    (report(role="listener"), STALLS, "at a listener"),
    (report(peer_stalls=3), STALLS, "3 stalls of the peer"),
    (report(sentence="x loses 44 ms"), STALLS, "the report does not say"),
    (report("no-stall", sentence=STALLS, proved=0), STALLS, "the verdict is no-stall"),
    (report("unseen", sentence=UNSEEN, proved=0), UNSEEN, "right"),
    (report("no-stall", sentence="No stall", proved=0), UNSEEN, "the report does not say"),
    (report("unseen", sentence=UNSEEN, proved=1), UNSEEN, "the verdict is unseen, with"),
])
def test_a_report_on_a_victim_is_judged(found, expected, judgement):
    victim = Victim("", "client", (), None, verdict=expected)
    wrong = complaints(victim, Treatment("observe", "ill"), Measurement((44.0,) * 10, observed=found))
    assert not wrong if judgement == "right" else judgement in wrong[0]


@pytest.mark.parametrize("found, known, judgement", [
    (report("no-stall", proved=0), 0, "right"),
    (report("application", proved=0), 0, "right"),
    (report(proved=1), 0, "claimed"),
    (report(proved=1), 1, "right"),
    (report(proved=2), 1, "claimed"),
    (report(proved=0, stalls_suspected=1), 1, "claimed"),
    (report("nothing", proved=0), 0, "the verdict is nothing"),
])
def test_a_report_on_a_program_that_is_well_is_judged(found, known, judgement):
    wrong = wrong_of_well(found, known)
    assert not wrong if judgement == "right" else judgement in wrong[0]


def test_a_report_that_does_not_say_where_the_time_went_is_seen():
    found = report("no-stall", sentence="No stall. Not the network: 30 ms", proved=0)
    assert not wrong_of_well(found, says="Not the network")
    assert "does not say" in wrong_of_well(found, says="before its first write")[0]


QUERY = "getsockopt(0<TCP>, SOL_SOCKET, SO_PROTOCOL, [6], [4]) = 0"
BARE_TRACE = ["socket(AF_INET) = 3", "write(3<TCP>, 9) = 9", "read(3<TCP>, 9) = 9"]


@pytest.mark.parametrize("treated, verdict", [
    ([BARE_TRACE], "same"),
    ([[QUERY, *BARE_TRACE]], "same, and 1 queries"),
    ([BARE_TRACE, []], "2 processes and threads"),
    ([[*BARE_TRACE, "setsockopt(3<TCP>, TCP_NODELAY) = 0"]], "an added setsockopt"),
    ([[BARE_TRACE[0], "sendto(3<TCP>, 9, MSG_MORE) = 9", BARE_TRACE[2]]], "another trace, at write"),
])
def test_a_changed_trace_is_seen(treated, verdict):
    assert compare([BARE_TRACE], treated).startswith(verdict)


@pytest.mark.parametrize("name", wells(heavy=True))
def test_each_well_program_says_what_it_is(name):
    well = load_well(name)
    assert well.story and "\n" not in well.story and well.needs and callable(well.drive)


@pytest.mark.parametrize("name", victims(heavy=True))
def test_each_victim_says_what_it_is(name):
    victim = load(name)
    assert victim.sick in ("client", "server", "relay")
    assert victim.story and "\n" not in victim.story
    assert victim.needs and callable(victim.measure)
    assert victim.verdict and "\n" not in victim.verdict
