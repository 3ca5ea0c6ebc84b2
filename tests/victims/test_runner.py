# SPDX-License-Identifier: MIT
"""The runner can fail: it finds each planted error of a victim."""

import os
import shutil
import socket
import sys
import time
from dataclasses import replace

import pytest

from harness import AnsweringPeer, LIB, skip, strace
from runner import (BARE, CountingRelay, Daemon, Driver, Measurement, Observed, TREATMENTS, Treatment, UNSEEN,
                    Victim,
                    compared, complaints, daemon, document, in_turns, load, load_well, made, may_be_noise,
                    measured, victims, wells, wrong_of_well)
from runner.load import warm_up
from runner.wells import by_birth, compare

pytestmark = pytest.mark.no_library

EXCHANGE = Victim("client", (), None, segments={"treated": 1})
NEWER = Victim("client", (), None, well=lambda: "program 2")
WHOLE_RUN = Victim("client", (), None, whole_run=True)
BARE_RUNS = (52.0,) * 10


def of(median, segments=1):
    return Measurement((median,) * 10, segments, BARE_RUNS)


def rated(**rates):
    return Measurement((0.1,) * 10, rates={name.replace("_", " "): rate for name, rate in rates.items()})


@pytest.mark.parametrize("victim, expects, measurement, judgement", [
    (EXCHANGE, "stalls", of(44.0), "right"),
    (EXCHANGE, "stalls", of(0.1), "the stall is not there"),
    (EXCHANGE, "cured", of(0.1), "right"),
    (NEWER, "stalls", of(0.1, 2), "right"),
    (NEWER, "stalls", of(44.0, 2), "the stall is still there"),
    (EXCHANGE, "cured", of(44.0), "the stall is still there"),
    (EXCHANGE, "cured", of(5.1), "the stall is still there"),
    (EXCHANGE, "cured", of(0.1, 2), "at most 1"),
    (EXCHANGE, "cured", of(0.1, None), "right"),
    (EXCHANGE, "any", of(44.0), "right"),
    (WHOLE_RUN, "stalls", of(52.0, None), "right"),
    (WHOLE_RUN, "stalls", of(8.0, None), "no stall fits"),
    (WHOLE_RUN, "stalls", of(31.0, None), "the stall is not there"),
    (WHOLE_RUN, "cured", of(8.0, None), "right"),
    (WHOLE_RUN, "cured", of(50.0, None), "the stall is still there"),
    # other work makes bare runs longer
    (WHOLE_RUN, "stalls", Measurement((51.0,) * 6 + (60.0,) * 5, None, (52.0,) * 4 + (84.0,) * 7), "right"),
    # a cure of some runs
    (WHOLE_RUN, "cured", Measurement((8.0,) * 4 + (50.0,) * 7, None, BARE_RUNS), "the stall is still there"),
    (EXCHANGE, "cured", rated(treated=900, bare=100, own_cure=950), "right"),
    (EXCHANGE, "cured", rated(treated=800, bare=100, own_cure=800), "under 8.7 times"),
    (EXCHANGE, "cured", rated(treated=900, bare=100, own_cure=1100), "with its own cure"),
    (EXCHANGE, "cured", rated(treated=900, bare=100), "right"),
])
def test_a_measurement_is_judged(victim, expects, measurement, judgement):
    found = complaints(victim, Treatment("treated", expects), measurement)
    assert not found if judgement == "right" else judgement in found[0]


@pytest.mark.parametrize("victim, expects, median, segments, noise", [
    (EXCHANGE, "cured", 12.0, 1, True),
    (EXCHANGE, "cured", 44.0, 1, False),
    (EXCHANGE, "cured", 12.0, 2, True),
    (EXCHANGE, "cured", 44.0, 2, False),
    (EXCHANGE, "cured", 0.1, 2, True),
    (NEWER, "stalls", 12.0, 2, True),
    (NEWER, "stalls", 44.0, 2, False),
    (EXCHANGE, "stalls", 12.0, 1, True),
    (EXCHANGE, "stalls", 0.1, 1, False),
    (WHOLE_RUN, "cured", 30.0, None, True),
    (WHOLE_RUN, "cured", 50.0, None, True),
    (WHOLE_RUN, "stalls", 35.0, None, True),
    (WHOLE_RUN, "stalls", 8.0, None, False),
])
def test_only_noise_is_measured_again(victim, expects, median, segments, noise):
    measurement, treatment = of(median, segments), Treatment("treated", expects)
    found = complaints(victim, treatment, measurement)
    assert found and may_be_noise(victim, treatment, measurement, found) == noise


@pytest.mark.parametrize("planted, noise", [
    ({"peer_stalls": 3}, True), ({"proved": 5}, True), ({"role": "listener"}, False),
    ({"kind": "no-stall", "proved": 0}, False), ({"sentence": "x loses 44 ms"}, False),
    ({"role": "listener", "peer_stalls": 3}, True),
])
def test_only_the_numbers_of_a_report_are_measured_again(planted, noise):
    victim, treatment = Victim("client", (), None, verdict=STALLS), Treatment("observe", "stalls")
    measurement = Measurement((44.0,) * 10, observed=report(**planted))
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
        Treatment("treated", "cured", LIB).assert_in(os.getpid())


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


LISTENS_BEFORE_IT_SERVES = """import socket, sys, time
listener = socket.create_server(("127.0.0.1", int(sys.argv[1])))
time.sleep(0.3)
print("serves", flush=True)
time.sleep(60)"""


def test_a_daemon_that_listens_is_waited_for_until_it_serves(tmp_path):
    def command(port):
        return [sys.executable, "-c", LISTENS_BEFORE_IT_SERVES, port]

    with Daemon(command, BARE.env(), tmp_path, ready="serves") as server:
        assert "serves" in server.log()


def test_a_strangers_port_is_not_taken_for_the_daemons(tmp_path, monkeypatch):
    with AnsweringPeer() as stranger:
        monkeypatch.setattr(daemon, "free_port", lambda: stranger.port)
        with pytest.raises(AssertionError, match="does not serve"):
            with Daemon(lambda port: ["/bin/sleep", "0.2"], BARE.env(), tmp_path):
                pass


def test_a_daemon_ends_with_its_children(tmp_path):
    if not shutil.which("socat"):
        skip("socat is not installed")

    def command(port):
        return ["socat", f"TCP-LISTEN:{port},bind=127.0.0.1,reuseaddr,fork", "EXEC:sleep 60"]

    with Daemon(command, BARE.env(), tmp_path) as server, Driver(server.port):
        deadline = time.monotonic() + 20
        while len(server.processes()) < 3 and time.monotonic() < deadline:
            time.sleep(0.01)
        pids = server.processes()
        assert len(pids) == 3
    deadline = time.monotonic() + 20  # all are killed, but only the first one is waited for
    while any(map(_runs, pids)) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not [pid for pid in pids if _runs(pid)]


def _runs(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as text:
            return text.read().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


@pytest.mark.parametrize("mode, ratio, right", [
    ("auto", 1.05, True), ("auto", 1.3, False), ("coalesce", 1.3, False), ("nodelay", 1.3, True),
])
def test_the_time_of_sending_once_is_the_measure(mode, ratio, right):
    once = compared([0.1 * ratio] * 10, [0.1] * 10)
    found = complaints(EXCHANGE, Treatment(mode, "cured"), Measurement((0.1,) * 10, once=once))
    assert not found if right else "sending once" in found[0]


def test_what_slows_both_halves_of_a_round_is_not_compared():
    slow = [1.0, 1.0, 5.0, 9.0, 1.0, 30.0, 1.0]
    found = compared([1.05 * time for time in slow], slow)
    assert found.ratio == pytest.approx(1.05) and found.quartiles == pytest.approx((1.05,) * 3)
    assert found.rounds == 7


def test_turns_are_taken_until_one_has_gone():
    says = [sys.executable, "-c", "import sys; [print(3.0, flush=True) for _ in sys.stdin]"]
    found = in_turns((BARE, says), (BARE, [*says[:2], says[2].replace("3.0", "2.0")]), 20)
    assert (found.ours_ms, found.theirs_ms, found.ratio, found.rounds) == (3.0, 2.0, 1.5, 20)
    with pytest.raises(AssertionError, match="has ended"):
        in_turns((BARE, says), (BARE, ["true"]), 20)


@pytest.mark.parametrize("rates, slices", [
    ([100, 100, 100, 100, 900], 4),
    ([100, 200, 400, 410, 405, 415, 900], 6),
    ([100, 90, 95, 200, 150, 201, 199, 900], 7),
    ([2 ** number for number in range(50)], 12),
])
def test_a_server_is_warm_when_its_rate_grows_no_more(rates, slices):
    coming = iter(rates)
    warm_up(lambda: next(coming))
    assert len(rates) - len(list(coming)) == slices


def test_only_what_the_build_reads_builds_anew(tmp_path, monkeypatch):
    monkeypatch.setattr(sys.modules[made.__module__], "BUILD_ROOT", tmp_path / "build")
    home, drafts = tmp_path / "victim", []
    (home / "src").mkdir(parents=True)
    for name in ("victim.py", "Cargo.toml", "src/main.rs"):
        (home / name).write_text(name)

    def folder():
        return made([home / "Cargo.toml", home / "src"], drafts.append)

    first = folder()
    (home / "victim.py").write_text("another")
    assert folder() == first and len(drafts) == 1
    (home / "src" / "main.rs").write_text("another")
    assert folder() != first and len(drafts) == 2
    with pytest.raises(ZeroDivisionError):
        made(home / "victim.py", lambda draft: 1 / 0)
    assert not list((tmp_path / "build").rglob(".*")), "a failed build leaves its draft behind"


def test_a_relay_counts_what_the_client_sends():
    with AnsweringPeer(request=1, reply=10) as peer, CountingRelay(peer.port) as relay:
        for turns in (3, 5):
            with Driver(relay.port) as driver:
                for _ in range(turns):
                    driver.exchange(b"x", lambda so_far: len(so_far) >= 10)
    assert sorted(relay.counts) == [3, 5]


def _rows(text):
    """First cell -> column -> cell, of all tables of the page."""
    rows, head = {}, []
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.split("|")[1:-1]]
        if line.startswith("| program"):
            head = cells
        elif line.startswith("| `"):
            rows.setdefault(cells[0].strip("`"), {}).update(zip(head[1:], cells[1:]))
    return rows


@pytest.fixture(name="gallery")
def _gallery(tmp_path, monkeypatch):
    monkeypatch.setattr(document, "_HOME", tmp_path / "gallery.md")
    columns = [*TREATMENTS, "socket-nodelay", "cork-nodelay"]

    def update(results, unchanged=None):
        document.update(columns, results, unchanged or {})
        text = (tmp_path / "gallery.md").read_text("utf-8")
        assert [line for line in text.splitlines() if len(line) > 110] == []
        return _rows(text), text

    return columns, update


def _full(columns, milliseconds):
    result = {column: Measurement((milliseconds,) * 10, 2.0) for column in columns}
    return {**result, "observe": Measurement((44.0,) * 10, 2.0, observed=report())}


def test_a_run_fills_every_cell_of_its_rows_and_leaves_the_others(gallery):
    columns, update = gallery
    rows, _ = update({"webrick": _full(columns, 44.0), "jvm-cork": _full(columns, 43.0)},
                     {"well-curl": {**dict.fromkeys(("off", "observe", "nodelay", "auto"), "same"),
                                    "verdict": "no-stall", "facts": "a fact of many words " * 9}})
    assert {column: rows["webrick"][column] for column in (*columns, "verdict")} == {
        **dict.fromkeys(columns, "44.00 · 2.0"), "verdict": "stalls, 10 of 10"}
    assert not [name for name in ("webrick", "jvm-cork", "well-curl") if "?" in rows[name].values()]
    again, text = update({"webrick": {"auto": Measurement((0.1,) * 10, 1.0), "cork": None}})
    assert again == {**rows, "webrick": {**rows["webrick"], "auto": "0.10 · 1.0", "cork": "failed"}}
    assert " ".join(text.split()).count("a fact of many words") == 9


def test_notes_name_what_a_rate_and_ten_requests_were_compared_with(gallery):
    _, update = gallery
    rates = {"treated": 900.0, "bare": 100.0, "own cure": 1000.0}
    _, text = update({"jvm-cork": {"auto": Measurement((0.1,) * 10, rates=rates)}, "no-longer-there": {},
                      "geventhttpclient": {"auto": Measurement((0.1,) * 10,
                                                               once=compared([1.1] * 9, [1.0] * 9))}})
    assert "| `jvm-cork`, auto | 900 | 9.0 (100) | 0.90 (1000) |" in text
    assert "| `geventhttpclient`, auto | 1.100 |" in text
    gone = "| program, mode | times one send |\n|---|---|\n| `jruby-webrick`, auto | 1.000 |\n"
    document._HOME.write_text(text + gone, "utf-8")  # pylint: disable=protected-access
    _, text = update({"jvm-cork": {"auto": Measurement((0.1,) * 10, rates={**rates, "treated": 950.0})}})
    assert text.count("| `jvm-cork`, auto |") == 1 and "| 950 |" in text
    assert "| `geventhttpclient`, auto |" in text and "jruby-webrick" not in text


STALLS = "it sends each message in two small writes"


def report(kind="stalls", role="destination", sentence=f"x loses 44 ms: {STALLS}", proved=10, **claims):
    row = {"stalls_proved": proved, "stalls_bound": 0, "stalls_suspected": 0, "peer_stalls": 0,
           "exchanges": 10, **claims}
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
    victim = Victim("client", (), None, verdict=expected)
    wrong = complaints(victim, Treatment("observe", "stalls"), Measurement((44.0,) * 10, observed=found))
    assert not wrong if judgement == "right" else judgement in wrong[0]


def test_another_pair_of_pieces_is_seen():
    victim = Victim("client", (), None, verdict=STALLS, pieces=(9, 34))
    for pieces, said in (((9, 34), 0), ((26, 9), 1), ((), 1)):
        found = replace(report(), pieces=pieces)
        wrong = complaints(victim, Treatment("observe", "stalls"), Measurement((44.0,) * 10, observed=found))
        assert len(wrong) == said and all("pieces" in text for text in wrong)


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


def test_processes_are_compared_in_the_order_of_their_birth():
    """The second child ran first."""
    calls, pids = strace.parse("1 clone(flags) = 3\n1 fork( <unfinished ...>\n2 getpid() = 2\n"
                               "1 <... fork resumed>) = 2\n3 getpid() = 3\n")
    assert pids == [1, 2, 3] and by_birth(calls, pids) == [1, 3, 2]


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
