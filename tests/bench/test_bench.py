# SPDX-License-Identifier: MIT
"""The benchmark's programs send as their names say; no hot path has grown.

No time is judged here.
"""

import subprocess
from pathlib import Path

import pytest
from harness import free_port, patiently, skip
from measure import exchanges, instructions, page, real, report, scale
from measure import configurations as conf
from measure.exchanges import HOST, ROWS, client_argv, client_calls
from measure.machine import LIB, found, program, run, run_json, running
from measure.rounds import paired, spread

CLIENT_ROWS = [row for row in ROWS if not row.connections]


@pytest.fixture(name="port", scope="module")
def _port():
    with running([program("peer")]) as peer:
        yield peer.said


def exchanged(row, configuration, port):
    argv = client_argv(row, configuration, port, 2, 50)
    return run_json(argv, configuration.env())


@pytest.mark.parametrize("row", CLIENT_ROWS, ids=lambda row: row.name)
def test_one_send_is_one_segment(row, port):
    assert exchanged(row, conf.ONE, port)["segments"] == 1


@pytest.mark.parametrize("name", ["unstall auto", "unstall coalesce", "unstall cork"])
@pytest.mark.parametrize("row", CLIENT_ROWS, ids=lambda row: row.name)
def test_as_many_segments_as_one_send(row, name, port):
    configuration = next(c for c in row.configurations if c.name == name)
    limit = 1.1 if row.name == "random" else 1.02
    # without a window a busy machine may break the habit by which auto holds (docs/design.md)
    assert any(exchanged(row, configuration, port)["segments"] <= limit for _ in range(5))


@pytest.mark.parametrize("row", [r for r in CLIENT_ROWS if r.name in ("two", "fifteen", "body", "one")],
                         ids=lambda row: row.name)
def test_auto_makes_no_call_more_than_bare(row, port):
    if found("strace"):
        skip("no strace here")
    auto = next(c for c in row.configurations if c.name == "unstall auto")
    bare = conf.Configuration("TCP_NODELAY", "nodelay")

    def attempt():
        # a call made once a connection (a late query) is no call an exchange
        assert client_calls(row, auto, port) <= client_calls(row, bare, port) + 0.05
    patiently(attempt)  # after a pause of 5 ms within a hold, each further hold costs a getrusage(2)


@pytest.mark.parametrize("way", ["one", "nodelay", "cork", "more"])
@pytest.mark.parametrize("kind", ["epoll", "threads"])
def test_server_answers(kind, way):
    result = exchanges.under_load(conf.Configuration(way, way), 20, 60, 2, 200, kind=kind)
    assert result["segments"] > 0.8  # some answers were under way when the counting began


@pytest.mark.parametrize("mode, most", [("auto", 4), ("coalesce", 4), ("cork", 4)])
def test_answers_to_requests_of_one_read_are_few_segments(mode, most):
    """16 requests in one read, each answered in two writes: TCP_NODELAY makes 32 segments of them."""
    def segments(configuration):
        return exchanges.under_load(configuration, 4, 100, 2, 100, 16)["segments"]
    mine = conf.Configuration(mode, "pieces", LIB, mode)
    assert any(segments(mine) <= most for _ in range(5))
    assert segments(conf.Configuration("TCP_NODELAY", "nodelay")) > 20


def test_load_learns_the_length_of_an_answer_of_http():
    port = free_port()
    with real.serving(real.python(None)(port), port, conf.OTHER_PRELOADS[0].env()):
        told = run_json([program("load"), HOST, str(port), "2", "4", "1", "6", "3", "http"])
    assert told["all exchanges"] == 10 and told["packets"] > told["segments"] > 0


def test_tails_are_in_order(port):
    told = run_json([program("client"), HOST, port, "two", "nodelay", "10", "2", "100", "tails"])
    assert told["ns"] <= told["p99 ns"] <= told["p99.9 ns"]


def test_ratios_are_taken_within_a_round():
    times = {"a": iter([100, 200, 400]), "b": iter([150, 300, 600])}
    rows = paired([conf.Configuration("a", ""), conf.Configuration("b", "")],
                  lambda c: {"ns": next(times[c.name])}, 3)
    assert rows["b"]["ratio"] == {"median": 1.5, "low": 1.5, "high": 1.5, "count": 3}


def test_spread_is_the_quartiles():
    assert spread([1, 2, 3, 4, 5]) == {"median": 3, "low": 2, "high": 4, "count": 5}


def test_a_quick_run_measures_whatever_has_a_target():
    for row in ROWS:
        names = [c.name for c in exchanges.QUICK.configurations(row)]
        judged = {target.of for target in row.targets.values()} | set(row.targets)
        assert names[:2] == [conf.ONE.name, conf.AGAIN.name] and judged <= set(names)
        assert exchanges.FULL.configurations(row) == list(row.configurations)


def test_a_configuration_that_stalls_runs_in_few_rounds():
    rows = paired([conf.ONE, conf.BARE], lambda c: {"ns": 1}, 4, stalled=1)
    assert rows[conf.ONE.name]["ns"]["count"] == 4 and rows[conf.BARE.name]["ns"]["count"] == 1


@pytest.mark.parametrize("name, point", scale.POINTS.items())
def test_each_connection_of_the_scale_has_learned_its_habit(name, point):
    connections = point[1]
    assert scale.warm_up(connections) / connections >= exchanges.HABIT_LEARNED, name


# ---- instructions ---------------------------------------------------------


def test_no_hot_path_has_grown():
    if not Path(program("paths")).exists() or found("valgrind"):
        skip("no valgrind here")
    before, here = instructions.recorded(), instructions.compiled_by()
    assert before, "no record: scripts/bench --record-instructions"

    if before["made by"] != here:
        print(f"recorded with {before['made by']}, here {here}: shown, not judged", instructions.added())
        return
    grown, now = instructions.risen_for_good(before)
    for mode, paths in now.items():
        print(mode, paths)
    assert not grown, "\n".join([*grown, "meant so? scripts/bench --record-instructions"])
    assert instructions.above_budget(now) == []


def test_the_record_keeps_the_budgets():
    """The other check sees neither growth below 5 % from record to record nor what a new record has more."""
    assert instructions.above_budget(instructions.recorded()["added"]) == []
    too_much = {mode: {name: 0 for names in budgets for name in names[1:]}
                | {names[0]: most + 0.1 for names, most in budgets.items()}
                for mode, budgets in instructions.BUDGETS.items()}
    assert len(instructions.above_budget(too_much)) == sum(map(len, instructions.BUDGETS.values())) == 8


def test_the_check_would_fail():
    before = {"added": {"auto": {"plain_write": 100.0, "pipe_write": 20.0}}}
    assert instructions.risen(before, {"auto": {"plain_write": 105.0, "pipe_write": 21.0}}) == []
    assert instructions.risen(before, {"auto": {"plain_write": 106.0, "pipe_write": 22.0}}) == [
        "auto plain_write: 100.0 -> 106.0 instructions", "auto pipe_write: 20.0 -> 22.0 instructions"]


def test_a_count_that_rises_in_some_runs_has_not_risen():
    before = {"added": {"auto": {"a": 100.0, "b": 100.0}, "cork": {"a": 100.0}}}
    runs = iter([{"auto": {"a": 120.0, "b": 100.0}, "cork": {"a": 100.0}},
                 {"auto": {"a": 120.0, "b": 120.0}}, {"auto": {"a": 100.0, "b": 120.0}}])
    asked = []

    def measure(modes=None):
        asked.append(modes)
        return next(runs)

    lines, now = instructions.risen_for_good(before, measure)
    assert lines == [] and now == {"auto": {"a": 100.0, "b": 100.0}, "cork": {"a": 100.0}}
    assert asked == [None, ("auto",), ("auto",)]


def test_a_count_that_rises_in_every_run_has_risen():
    before = {"added": {"auto": {"a": 100.0, "b": 100.0}}}
    runs = []

    def measure(_=None):
        runs.append(1)
        return {"auto": {"a": 110.0 + len(runs), "b": 100.0}}

    lines, _ = instructions.risen_for_good(before, measure)
    assert lines == ["auto a: 100.0 -> 111.0 instructions"] and len(runs) == instructions.TRIES


def test_unknown_names_are_refused():
    script = Path(__file__).resolve().parents[2] / "scripts/bench"
    done = subprocess.run([script, "--only", "nothing"], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "nothing" in done.stderr


def test_what_is_measured_again_replaces_its_section_and_no_other():
    old = {"pair": "1", "calls": "2", "scale": "3"}
    assert page.merge(old, {"calls": "4"}) == {"pair": "1", "calls": "4", "scale": "3"}
    assert list(page.merge(old, {"first": "5", "pair": "6"})) == ["first", "pair", "calls", "scale"]
    assert list(page.merge(old, {"calls": "4", "path": "7", "tails": "8"})) == [
        "pair", "calls", "path", "tails", "scale"]
    assert list(page.merge(old, {"new": "9"})) == ["pair", "calls", "scale", "new"]


def updated(monkeypatch, folder, results):
    """The lines of the two pages, and the lines that --update-docs makes of them."""
    before = {}
    for number, name in enumerate(("DOCS", "OTHERS")):
        before[name] = getattr(report, name).read_text(encoding="utf-8")
        copy = folder / f"{number}.md"
        copy.write_text(before[name], encoding="utf-8")
        monkeypatch.setattr(report, name, copy)
    report.update_docs({"rows": {}, "stamps": {}, "skipped": {}, **results}, False)
    return ([text.splitlines() for text in before.values()],
            [getattr(report, name).read_text(encoding="utf-8").splitlines() for name in before])


def test_the_pages_stay_as_they_are_where_nothing_was_measured(monkeypatch, tmp_path):
    before, after = updated(monkeypatch, tmp_path, {})
    assert [len(lines) > 100 for lines in before] == [True, True] and after == before


def test_a_claim_is_renewed_on_its_page_and_nowhere_else(monkeypatch, tmp_path):
    calls = {"file: read": {"bare": 1, "added": {"median": 12.3, "low": 1, "high": 20}}}
    before, after = updated(monkeypatch, tmp_path, {"calls": calls})
    assert after[1] == before[1]
    assert [line for line in after[0] if "12.3 (1.0–20.0)" in line] and len(after[0]) < len(before[0])


def test_a_section_measured_elsewhere_names_its_processor(monkeypatch, tmp_path):
    stamp = {"kind": "full", "date": "today", "commit": "c0ffee", "load before": 1, "processor": "Z80"}
    before, after = updated(monkeypatch, tmp_path, {
        "instructions": {"auto": {"plain_read": 123}}, "stamps": {"instructions": stamp}})
    assert after[0] == before[0]
    new = [line for line in after[1] if line not in before[1]]
    assert any(line.startswith("| plain read |  123 |") for line in new)
    assert "<sub>full run, today, commit c0ffee, load 1, Z80</sub>" in new
    assert [line for line in new if "Z80" not in line and "|" not in line] == []
