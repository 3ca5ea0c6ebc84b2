# SPDX-License-Identifier: MIT
"""Options, answers in words, and the file of results."""

import json
import re
from types import SimpleNamespace

import pytest
from trial import ANALYSIS, PYTHON, ab, made_up

from harness import SOURCE_ROOT, bare_env, run, unstall

import options
from experiment import live as module
from experiment import merge, stats_files
from experiment.live import Live
from inference.analysis import analyse, logarithms
from inference.verdict import judge
from record import results
from record.histogram import Histogram
from report import text

pytestmark = pytest.mark.no_library


def verdict_of(made):
    """The sentences, as one."""
    return judge(analyse(made), made)


# ---- verdicts ----

def test_a_winner_is_named_with_its_interval_and_the_line_that_deploys_it():
    said = verdict_of(made_up(20, 0.7))
    assert (said.kind, said.winner, said.against) == ("winner", "auto", "off")
    low, high = said.ratio[1:]
    assert low < 0.7 < high < 1
    assert re.search(r"auto wins: .* ms -> .* ms\. It takes (2[5-9]|3\d) % less time \(95 % interval: ",
                     said.sentences[0])
    assert said.deploy == "unstall run --mode auto -- prog 'a b'"


def test_a_mean_that_contradicts_the_verdict_is_no_proof_of_it():
    """"auto wins: 0.354 ms -> 0.420 ms. It takes 1.2 % less time": one slow unit made the mean."""
    made = made_up(40, 0.8)
    made.of_arm("auto")[7].exchange_ns *= 100
    sentences = verdict_of(made).sentences
    assert re.match(r"auto wins\. It takes \d+ % less time ", sentences[0])
    assert re.fullmatch(r"Over all rounds together it is the other way round: .* ms -> .* ms\.", sentences[1])


def test_a_great_ratio_is_told_as_how_many_times():
    assert re.search(r"It is 9\d\d times as fast|It is 10\d\d times as fast",
                     verdict_of(made_up(20, 0.001)).sentences[0])


def test_the_base_wins_where_the_arm_is_slower():
    said = verdict_of(made_up(20, 1.5))
    assert (said.kind, said.winner) == ("winner", "off")
    assert said.sentences[0].startswith("off wins: auto takes ")
    assert said.deploy == "prog 'a b'"


def test_no_difference_is_told_with_its_largest_size():
    said = verdict_of(made_up(60, 1.0, noise=0.03))
    assert said.kind == "no difference" and 1 < said.largest < 1.1
    assert re.match(r"No difference larger than [\d.]+ % between off and auto", said.sentences[0])


def test_not_enough_data_says_how_much_is_missing():
    said = verdict_of(made_up(4, 0.5))
    assert said.kind == "not enough data" and 1 <= said.more <= 10
    assert "4 rounds compared, at least" in said.sentences[0]
    few = verdict_of(made_up(10, 1.0, noise=0.3))
    assert few.kind == "not enough data" and few.more > 10


def test_among_those_that_are_not_told_apart_the_mildest_is_recommended():
    made = made_up(20, 1.0, seed=2, arms=("off", "coalesce", "nodelay", "auto"))
    for unit in made.units:
        if unit.arm != "off":
            unit.exchange_ns //= 100
    said = verdict_of(made)
    assert said.winner == "auto"
    assert "No significant difference from it: " in " ".join(said.sentences)
    assert "coalesce" in " ".join(said.sentences)


def test_an_arm_without_exchange_times_is_left_out_and_named():
    made = made_up(20, 0.5, arms=("off", "bare", "auto"))
    for unit in made.units:
        if unit.arm == "bare":
            unit.exchanges = unit.exchange_ns = None
            unit.histogram = Histogram()
    said = verdict_of(made)
    assert said.winner == "auto"
    assert said.sentences[-1] == "Not compared, because the mean is not known there: bare."


def test_nothing_to_compare_is_said():
    made = made_up(5)
    made.units = [unit for unit in made.units if unit.arm == "off"]
    assert verdict_of(made).kind == "nothing measured"


# ---- the report ----

@pytest.mark.parametrize("made", [made_up(20, 0.001), made_up(3), made_up(20, 1e6),
                                  made_up(8, arms=("off", "observe", "nodelay", "cork", "coalesce", "auto"))],
                         ids=["winner", "open", "slow", "six arms"])
def test_the_report_fits_80_columns(made):
    made.experiment["command"] = ["/a/very/long/path" * 8, "--option", "x" * 90, "line\nbreak\x1b[31m"]
    made.failures.append({"round": 3, "arm": "auto",
                          "what": "prog: ended with exit code 1\n  | " + "y" * 200})
    found = analyse(made)
    lines = text.report(made, found, judge(found, made)).splitlines()
    assert max(map(len, lines)) <= 80
    assert not any("\x1b" in line for line in lines)


@pytest.mark.parametrize("number, arm, place", [(3, "off", "round 3, off"), (None, "off", "the warm-up, off"),
                                                (None, None, "")])
def test_a_failure_names_the_run_in_which_it_was(number, arm, place):
    """It was "round None" in the warm-up, and "round None, None" outside of the runs."""
    assert results.place_of({"round": number, "arm": arm, "what": "it failed"}) == place


# ---- the file ----

def test_results_survive_their_file(tmp_path):
    made = made_up(6)
    results.save(tmp_path / "r.json", made)
    again = results.load(tmp_path / "r.json")
    assert again.json() == made.json()


@pytest.mark.parametrize("content, complaint", [
    ("", "Expecting value"), ("{}", "not a file of results"), ("[1]", "not a file of results"),
    ('{"format": "unstall-ab", "version": 99}', "version 99"),
    ('{"format": "unstall-ab", "version": 1}', "was it cut short?"), ("\xff", "decode"),
])
def test_what_is_no_file_of_results_is_refused(tmp_path, content, complaint):
    path = tmp_path / "r.json"
    path.write_bytes(content.encode("latin-1"))
    done = ab("--merge", path)
    assert done.returncode == 125
    assert done.stderr.startswith(f"unstall ab: {path}: ") and complaint in done.stderr
    assert "Traceback" not in done.stderr


def test_a_file_that_cannot_be_written_leaves_the_last_one_whole(tmp_path):
    path = tmp_path / "r.json"
    path.write_text("the last one")
    with pytest.raises(OSError):
        results.write_whole(tmp_path / "no" / "r.json", "x")
    with pytest.raises(UnicodeEncodeError):
        results.write_whole(path, "half" + "\ud800")
    assert path.read_text() == "the last one"
    assert list(tmp_path.iterdir()) == [path]


# ---- merging ----

def saved(folder, name, made):
    """A file of results of another host."""
    made.machines = {name: {**made.machines["here"], "host": name}}
    for unit in made.units:
        unit.stratum = name
    results.save(folder / f"{name}.json", made)
    return folder / f"{name}.json"


@pytest.mark.parametrize("paired, count, size", [
    (True, 1, "1 round of 2 arms"), (True, 3, "3 rounds of 2 arms"), (False, 2, "2 connections in 2 arms"),
    (False, 1, "1 connection in 2 arms")])  # once "1 connections in 2 arms"
def test_the_size_of_an_experiment_is_counted(paired, count, size):
    made = SimpleNamespace(experiment={"base": "off", "seed": 1}, paired=paired, arms=["off", "auto"],
                           rounds=lambda: range(count), units=range(count), machines={}, counted=count,
                           together=1)
    assert text.heading(made) == [f"{size}, base off, seed 1"]


def test_hosts_merge_as_strata(tmp_path):
    """Each alone has too few rounds; together they have enough, and exchanges add up."""
    paths = [saved(tmp_path, f"host{n}", made_up(4, 0.7, seed=n)) for n in range(5)]
    assert "Not enough data" in ab("--merge", paths[0]).stdout
    done = ab("--merge", *paths, "--json", tmp_path / "all.json")
    assert done.returncode == 0, done.stderr
    assert all(part in done.stdout for part in ("auto wins", "20 rounds of 2 arms", "host by host"))
    whole = json.loads((tmp_path / "all.json").read_text())
    assert whole["analysis"]["arms"]["off"]["exchanges"] == 5 * 4 * 30
    assert len({unit["block"] for unit in whole["units"]}) == 20
    # a merged file merges again
    again = saved(tmp_path, "host9", made_up(4, 0.7, seed=9))
    assert "24 rounds" in ab("--merge", tmp_path / "all.json", again).stdout


def test_a_file_may_be_named_another_host(tmp_path):
    path = saved(tmp_path, "vm", made_up(4, 0.7))
    other = saved(tmp_path, "vm2", made_up(4, 0.7, seed=2))
    assert "web1: auto" in ab("--merge", f"web1={path}", f"web2={other}").stdout


@pytest.mark.parametrize("change, complaint", [
    (lambda made: made, "the same file is given twice"),
    (lambda made: made_up(4, arms=("off", "cork"), seed=2), "different arms: off, auto and off, cork"),
])
def test_what_does_not_belong_together_is_refused(tmp_path, change, complaint):
    first, second = made_up(4), change(made_up(4))
    path = tmp_path / "second.json"
    second.ended = first.ended if second.arms == first.arms else "2026-01-02T00:00:00+00:00"
    results.save(path, second)
    with pytest.raises(results.BadFile, match=complaint):
        merge.join([first, results.load(path)], options.parse(["--merge", "x"]))


# ---- the command line ----

@pytest.mark.parametrize("words, complaint", [
    ([], "no PROGRAM given; try --help"),
    (["--arms", "off", "true"], "--arms off: expected two or more"),
    (["--arms", "off,fast", "true"],
     "--arms off,fast: expected bare, off, observe, nodelay, cork, coalesce or auto"),
    (["--arms", "off,off", "true"], "off is given twice"),
    (["--arms", "off:50,auto:50", "true"], "weights are for --live"),
    (["--live", "--arms", "bare,auto", "--", "true"],
     "--arms bare: a running server cannot drop the library"),
    (["--live", "--arms", "off:0,auto:1", "--", "true"],
     "--arms off:0,auto:1: weight 0: expected a whole number from 1 to 1000"),
    (["--live"], "--live: expected a process id, --unit, --container or --cgroup, or -- and the server's"),
    (["--live", "one"], "--live: expected a process id"),
    (["--live", "1", "--unit", "nginx"], "--live: expected a process id"),
    (["--live", "--unit", "nginx", "--cgroup", "/x"], "--live: expected a process id"),
    (["--live", "--unit", "nginx", "--arms", "off,auto"],
     "--arms off,auto: without the library the arms are given in the kernel, which has off and nodelay"),
    (["--unit", "nginx", "true"], "--unit: only with --live"),
    (["--kill", "--live", "--unit", "nginx"], "--kill: needs --live PID"),
    (["--base", "cork", "--arms", "off,auto", "true"], "--base cork: no such arm; there are off, auto"),
    (["--rounds", "0", "true"], "--rounds 0: expected a whole number from 1 to"),
    (["--seed", "1000000000", "true"], "--seed 1000000000: expected a whole number from 0 to 999999999"),
    (["--score", "(", "true"], "--score (: expected a regular expression of Python"),
    (["--rounds"], "--rounds: needs a value; try --help"),
    (["--until-sure=yes", "true"], "--until-sure=yes: takes no value; try --help"),
    (["--time", "5x", "true"], "--time 5x: expected seconds from 0.1 to 31536000, or a time as 500ms, "),
    (["--confidence", "5", "true"], "--confidence 5: expected a number from 50 to 99.99"),
    (["--server", "x", "--", "true"], "--server and --ready: each needs the other"),
    (["--stop-if", "worse", "true"], "--stop-if: only with --live"),
    (["--kill", "--live", "--", "true"], "--kill: needs --live PID"),
    (["--count-calls", "--live", "1"], "--count-calls: not with --live"),
    (["--stop-if", "slow", "--live", "1"], "--stop-if slow: expected worse"),
    (["--metric", "score", "true"], "--metric score: needs --score REGEX"),
    (["--aa", "--arms", "off,auto", "true"], "--aa: has its own arms"),
    (["--merge"], "--merge: expected files of results or statistics files"),
])
def test_what_is_asked_wrongly_is_refused(words, complaint):
    with pytest.raises(options.Refused) as refused:
        options.parse(list(map(str, words)))
    assert complaint in str(refused.value) and "\n" not in str(refused.value)


@pytest.mark.parametrize("text, seconds", [("2.5", 2.5), ("500ms", 0.5), ("30s", 30), ("5m", 300),
                                           ("2h", 7200)])
def test_a_time_may_have_a_unit(text, seconds):
    assert options.parse(["--time", text, "true"]).time == pytest.approx(seconds)


def test_without_strace_no_round_is_run(monkeypatch, tmp_path):
    """It failed after the last round."""
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(options.Refused, match="--count-calls: needs strace; apt-get install strace"):
        options.parse(["--count-calls", "true"])


@pytest.mark.parametrize("words, complaint", [
    (["--library", "/no/such.so", "true"], "--library /no/such.so: No such file or directory; give the path"),
    (["--arms", "off", "true"], "--arms off: expected two or more"),
    (["--live", "999999999"], "999999999: no such process; give the id of a running one"),
    (["--no-such-option"], "--no-such-option: no such option; try --help"),
    (["--round", "3", "--", "true"], "--round: no such option; did you mean --rounds? (--help lists all)"),
    # These were told after the last round.
    (["--html", "/nonexist/x", "--", "true"], "--html /nonexist/x: No such file or directory"),
    (["--json", "/nonexist/x", "--", "true"], "--json /nonexist/x: No such file or directory"),
    (["--html", "/tmp", "--", "true"], "--html /tmp: Is a directory"),
    (["--json", "/proc/x", "--", "true"], "--json /proc/x: No such file or directory"),
])
def test_a_refusal_is_one_line_and_125(words, complaint):
    done = ab(*words)
    assert done.returncode == 125
    assert done.stderr.startswith("unstall ab: ") and complaint in done.stderr
    assert done.stdout == "" and done.stderr.count("\n") == 1


def test_without_numpy_the_package_is_named():
    """It was a traceback."""
    code = "import runpy, sys; sys.modules['numpy'] = None; " \
           f"runpy.run_path({str(ANALYSIS)!r}, run_name='__main__')"
    done = run([PYTHON, "-B", "-c", code], bare_env(), check=False)
    assert done.returncode == 125
    assert done.stderr.endswith("; install python3-numpy\n") and "Traceback" not in done.stderr


def test_help_names_each_option_and_no_other():
    told = set(re.findall(r"^ +(--[a-z-]+)", unstall("ab", "--help").stdout, re.MULTILINE))
    assert told == set(options.TABLE)


# ---- the units of a live experiment ----

def test_each_sum_of_a_unit_has_its_own_name():
    row = {"exchanges": 1, "exchange_ns": 2, "messages": 3, "stalls_proved": 4, "segments": 5,
           "connections": 6, "connections_ended": 6, "exchange": {"steps": 32, "buckets": [[1, 1]]}}

    def sums(unit):
        return (unit.exchanges, unit.exchange_ns, unit.messages, unit.stalls, unit.segments, unit.connections)
    unit = stats_files.sum_rows([row, row], "off", "here")
    assert sums(unit) == (2, 4, 6, 8, 10, 12)
    stats_files.add_connection(unit, row)
    assert sums(unit) == (3, 6, 9, 12, 10, 13)
    stats_files.add_unit(unit, stats_files.sum_rows([row], "off", "here"))
    assert sums(unit) == (4, 8, 12, 16, 15, 19)


def told(serial, ended_ns, exchanges=3):
    """A connection, as `unstall report --json` tells it."""
    return {"serial": serial, "number": serial, "arm": 0, "row": 0, "opened_ns": 1, "ended_ns": ended_ns,
            "peer": "192.0.2.1:5", "listener": "192.0.2.2:80", "exchanges": exchanges,
            "exchange_ns": exchanges * 1000000, "messages": exchanges, "segments": 4, "stalls_proved": 0,
            "exchange": {"steps": 4, "buckets": [[30, exchanges]]}}


def live(assign):
    made = made_up(0, arms=("off", "nodelay"))
    asked = SimpleNamespace(arms=["off", "nodelay"], assign=assign, until_sure=False, stop_if=None,
                            min_exchanges=20, target=None)
    return Live(asked, made, None, None)


def look(experiment, connections):
    experiment._look([{"pid": 1, "started_ns": 1, "rows": [], "connections": connections}])


@pytest.mark.parametrize("assign", ["peer", "listener"])
def test_a_unit_of_many_connections_is_added_up_once_a_look(assign, monkeypatch):
    """Each connection added up all of its unit again: at 2000 of one listener a look took 5 s, and 0.01 s
    since.  The command fell behind, and the carrier waited at its full pipe."""
    added = []
    add = stats_files.add_connection
    monkeypatch.setattr(stats_files, "add_connection",
                        lambda unit, connection: (added.append(1), add(unit, connection)))
    experiment = live(assign)
    for first in range(0, 2000, 200):
        look(experiment, [told(first + i, 7) for i in range(200)])
    unit, = experiment.units
    assert (unit.connections, unit.exchanges, unit.segments) == (2000, 6000, 8000)
    assert unit.histogram.count == 6000
    assert len(added) == 2000


def test_a_connection_that_has_ended_counts_once_however_often_it_is_told():
    experiment = live("listener")
    for connections in ([told(1, 0), told(2, 7)], [told(1, 0, 30), told(2, 7)], [told(1, 9, 40), told(2, 7)],
                        [told(1, 9, 40), told(2, 7)]):
        look(experiment, connections)
    unit, = experiment.units
    assert (unit.connections, unit.exchanges, unit.segments) == (2, 43, 8)


@pytest.mark.parametrize("sure", [False, True])
def test_many_connections_of_one_arm_become_one_unit_and_none_is_lost(sure, monkeypatch):
    """Each connection was a unit, and cost 3 KB for ever: a busy server's day took all memory."""
    monkeypatch.setattr(module, "TOGETHER", 10)
    experiment = live("connection")
    experiment.fixed = sure
    long = {**told(0, 0, 20), "arm": 1}
    for first in range(0, 70, 7):
        look(experiment, [long, *({**told(first + i, 7), "arm": i % 2} for i in range(1, 8))])
        assert len(experiment.growing) <= 1
    look(experiment, [{**long, "exchanges": 40}])
    experiment._close()
    made = experiment.results
    made.kind = "live"
    assert [unit.connections for unit in made.units[:20]] == [1] * 10 + [2] * 10
    assert (made.counted, made.together, experiment.seen) == (71, 4, 71)
    assert sum(unit.connections for unit in made.units) == 71
    assert sum(unit.exchanges for unit in made.units) == 70 * 3 + (20 if sure else 40)
    assert all(unit.connections == (unit.together or 1) for unit in made.units[:-2])
    assert {key for key in logarithms(made, "off", "mean")} == {("here", 1), ("here", 2), ("here", 4)}
    assert "71 connections in 2 arms" in text.heading(made)[0]
    assert re.search(r"\d+ units: connections were many, so up to \d", " ".join(text.heading(made)))


def test_a_connection_that_its_file_has_lost_is_let_go():
    """Newer ones pushed it out before its end was read, and it stayed in memory for ever."""
    experiment = live("connection")
    for serial in range(5):
        look(experiment, [told(serial, 0)])
    assert len(experiment.growing) == 1
    assert [(unit.exchanges, unit.segments) for unit in experiment.units] == [(3, None)] * 4


def test_saving_and_deciding_take_a_twentieth_of_the_time():
    """The whole file was written every five seconds, and all was compared twice a second."""
    now, done = [100.0], []

    def work():
        done.append(now[0])
        now[0] += 2
        return True
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module.time, "monotonic", lambda: now[0])
        seldom = module.Seldom(5)
        for _ in range(100):
            now[0] += 1
            seldom(work)
    assert done == [105, 147, 189]


def test_the_record_in_the_docs_has_the_headings_of_today():
    """The column of slow exchanges was called by 35 ms there, when it counted from 30 ms on."""
    lines = (SOURCE_ROOT / "docs/experiments.md").read_text("utf-8").splitlines()
    found = {line for line in lines if line.startswith("exchange, ms")}
    assert found == {text.exchange_table(analyse(made_up(3)))[1]}
