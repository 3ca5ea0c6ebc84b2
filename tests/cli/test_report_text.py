# SPDX-License-Identifier: MIT
"""unstall report, for people: one sentence that is right, in 80 columns, in any locale."""

import fnmatch
import html
import json
import re

import pytest

from harness import bare_env, on_terminal, unstall
from stats_files import STALLING, make_stats_file

UTF8 = bare_env(LC_ALL="C.UTF-8")
ASCII = bare_env(LC_ALL="C")


def row(place, counts, *exchanges, role=2, mode=1, number=1):
    """The table of one endpoint; exchanges: "how many ns, how often"."""
    took = "".join(f"exchange {number} {one}\n" for one in exchanges)
    return (f"header mode {mode}\nrow {number} {role} 255 {mode} {6 if '::' in place else 4} {place}\n{took}"
            f"count {number} {counts}\n")


SERVER = row("::1 8080", "connections 1 bursts 50 bursts_of_3 50 stalls_bound 49 stall_bound_ns 2156000000",
             "72000000 50", role=1)
UNREAD = row("127.0.0.1 8080", "connections 1 writes 118 bursts 1 bursts_of_8_or_more 1 stalls_proved 58 "
             "stall_ns 2552000000")
PEER = row("10.0.0.1 25", "connections 1 peer_stalls 19 peer_stall_ns 836000000", "44000000 20")
CURED = row("127.0.0.1 8080", "connections 1 bursts 100 stalls_cured 99", "30000 100", mode=5)
# Of 99 stalls one had two pieces.
BEHIND = row("127.0.0.1 502", "connections 1 stalls_proved 99 stalls_crossing 98 stall_ns 4356000000",
             "44000000 99", "60000 101", role=1)
# Two clients that close after the last of their answers, which is no exchange of the server, but stalled as
# well: it said "88 of 88 exchanges".
ENDED = row("127.0.0.1 8080", "connections 2 messages 90 bursts 90 bursts_of_2 90 stalls_proved 88 "
            "stall_ns 3872000000", "44000000 86", "60000 2", role=1)
SOME_BEHIND = STALLING + "count 1 stalls_crossing 40\n"
BEHIND_CURED = row("127.0.0.1 502", "connections 1 stalls_proved 1 stalls_crossing 1 stall_ns 44000000 "
                   "stalls_cured 98", "44000000 1", "30000 199", role=1, mode=5)
BEHIND_ONCE = BEHIND_CURED.replace(" stalls_cured 98", "")
TLS = row("127.0.0.1 443", "connections 1 first_writes 1 first_write_ns 750000000", "300000 12")
SLOW_SERVER = row("0.0.0.0 80", "connections 1", "300000 12", role=1) + "answer 1 120000000 12\n"
STDIO = row("127.0.0.1 8080", "connections 1 untracked 1 unseen_bytes 1035")
KILLED_STDIO = row("127.0.0.1 8080", "connections 2 untracked 2 reads 321", role=1)
PARTLY_UNSEEN = row("127.0.0.1 5432", "connections 1 writes 1000 bytes 100000 unseen_bytes 500",
                    "150000 1000")
RELAY = (row("127.0.0.1 80", "connections 1", "300000 50", role=1) + "answer 1 45000000 50\n" +
         row("127.0.0.1 8080", "connections 1 bursts 50 bursts_of_2 50 stalls_proved 50 stall_ns 2200000000",
             "44000000 50", number=2))
STARTING = ("header loaded 1000000000\n" + row("127.0.0.1 443", "connections 1", "300000 12") +
            "connection 1 1 255 1 1730000000 0 127.0.0.1 443 127.0.0.1 40000 12 300000\n")
START_NOTE = "Not the network: {} in the application before its first write, {} of it before it connected."
WELL = row("127.0.0.1 5432", "connections 1", "150000 1000")
SLOW_PEER = row("127.0.0.1 5432", "connections 1", "150000000 1000")
OFF = row("127.0.0.1 8080", "connections 1 bursts 100", "44000000 100", mode=0)
SUSPECTED = row("127.0.0.1 8080", "connections 1 stalls_suspected 99", "44000000 100")
ONE_WAY = row("127.0.0.1 514", "connections 1 writes 500")
# The first exchange of a connection never stalls.
TOO_FEW = row("127.0.0.1 8081", "connections {}", "15300000 {}")
# name, table, kind and finding of the verdict, its sentence
VERDICTS = [
    ("one", TOO_FEW.format(1, 1), "too-few", "no-stall",
     "Too few exchanges to tell: 1 with 127.0.0.1:8081 on 1 connection, and the first of a connection "
     "never stalls; median 1"),
    ("too-few", TOO_FEW.format(42, 40), "too-few", "no-stall",
     "Too few exchanges to tell: 42 with 127.0.0.1:8081 on 40 connections, and"),
    ("enough", TOO_FEW.format(43, 40), "none", "no-stall",
     "No stall in 3 exchanges with 127.0.0.1:8081, the first of each connection not counted; median 1"),
    ("stalls", STALLING, "stalls", "stalls",
     "python3 (pid 4711) loses 43.8 ms in 96 of 100 exchanges with 127.0.0.1:8080: it sends each message "
     "in two small writes and Nagle holds the second. 4.20 s lost."),
    ("bound", SERVER, "stalls", "stalls",
     "python3 (pid 4711) loses up to 44.0 ms in 49 of 50 exchanges at [::1]:8080: it sends each answer in "
     "three small writes and Nagle holds all but the first. At most 2.16 s lost."),
    ("unread", UNREAD, "stalls", "stalls",
     "python3 (pid 4711) loses 44.0 ms 58 times with 127.0.0.1:8080: it sends each message in small writes"
     " and Nagle holds all but the first. 2.55 s lost."),
    ("peer", PEER, "stalls", "peer-stalls",
     "The peer stalls: from 10.0.0.1:25 the rest of 19 messages came a delayed acknowledgement late, 44.0 "
     "ms each, 836 ms lost: cure it there, or here by UNSTALL_QUICKACK=auto."),
    ("peers", PEER.replace("row 1 2", "row 1 1"), "stalls", "peer-stalls",
     "The peer stalls: from the clients of 10.0.0.1:25 the rest of 19 messages"),
    ("cured", CURED, "none", "cured",
     "Cured: up to 99 messages with 127.0.0.1:8080 would have stalled, about 40 ms each; the median "
     "exchange takes"),
    ("behind", BEHIND, "stalls", "stalls",
     "python3 (pid 4711) loses 44.0 ms in 99 of 200 exchanges at 127.0.0.1:502: it sends a small answer "
     "while the one before is not acknowledged yet, and Nagle holds it. 4.36 s lost."),
    ("ended", ENDED, "stalls", "stalls",
     "python3 (pid 4711) loses 44.0 ms in 88 of 90 messages at 127.0.0.1:8080: it sends each "),
    ("some-behind", SOME_BEHIND, "stalls", "stalls",
     "4.20 s lost. In 40 of these stalls a small message was held behind an earlier one that was not "
     "acknowledged yet. endpoint"),
    ("behind-cured", BEHIND_CURED, "none", "cured",
     "Cured: up to 98 messages at 127.0.0.1:502 would have stalled, about 40 ms each; the median exchange "
     "takes 30.0 µs. Before, 1 stalled, 44.0 ms: what waits behind an earlier message is cured once that "
     "was seen. endpoint"),
    ("behind-once", BEHIND_ONCE, "stalls", "stalls",
     "python3 (pid 4711) loses 44.0 ms in 1 of 200 exchanges at 127.0.0.1:502: it sends a small answer "
     "while"),
    ("tls", TLS, "none", "application",
     "Not the network: 750 ms in the application before its first write to 127.0.0.1:443."),
    ("slow-server", SLOW_SERVER, "none", "application",
     "Not the network: 120 ms in the application from a request at 0.0.0.0:80 to its answer."),
    ("well", WELL, "none", "no-stall", "No stall in 999 exchanges with 127.0.0.1:5432, the first of each"),
    ("slow-peer", SLOW_PEER, "none", "no-stall", "The answers of 127.0.0.1:5432 take"),
    ("off", OFF, "cannot-tell", "not-looked",
     "Cannot tell: in mode off stalls are not looked for; see unstall observe."),
    ("suspected", SUSPECTED, "cannot-tell", "suspected",
     "Cannot tell: 99 messages with 127.0.0.1:8080 look like stalls, but pacing, a loss or MPTCP may be "
     "the cause."),
    ("one-way", ONE_WAY, "too-few", "no-stall",
     "Too few exchanges to tell: none was seen with 127.0.0.1:514, in 500 writes and 0 reads."),
    ("stdio", STDIO, "cannot-tell", "unseen",
     "Cannot tell: writes bypass the library: with 127.0.0.1:8080, 1035 bytes more were sent than it saw "
     "written (by stdio, io_uring or raw system calls); a capture can show stalls here (unstall explain)."),
    ("killed-stdio", KILLED_STDIO, "cannot-tell", "unseen",
     "Cannot tell: writes bypass the library on 2 connections at 127.0.0.1:8080 (by stdio,"),
    ("partly-unseen", PARTLY_UNSEEN, "none", "no-stall", "No stall in 999 exchanges with 127.0.0.1:5432"),
    ("relay", RELAY, "stalls", "stalls",
     "python3 (pid 4711) loses 44.0 ms in 50 of 50 exchanges with 127.0.0.1:8080: it sends each message in"
     " two small writes and Nagle holds the second. 2.20 s lost. endpoint"),
    ("empty", "", "cannot-tell", "nothing",
     "Cannot tell: no TCP connection of python3 (pid 4711) has carried bytes; processes that it starts have "
     "statistics of their own, and a report on the folder adds them up."),
]
NAMES = [name for name, *_ in VERDICTS]
TABLES = [table for _, table, *_ in VERDICTS]
CODES = {"none": 0, "stalls": 1, "too-few": 2, "cannot-tell": 2}


def told(path, env=None):
    return unstall("report", path, env=env or UTF8, check=True).stdout


@pytest.mark.parametrize("_, table, kind, found, sentence", VERDICTS, ids=NAMES)
def test_sentence_json_page_and_exit_code_have_one_verdict(tmp_path, _, table, kind, found, sentence):
    path = make_stats_file(tmp_path / "x.unstall", table)
    in_json, in_text, in_page = (unstall("report", *words, path, env=UTF8)
                                 for words in (["--json"], [], ["--html", "-"]))
    verdict = json.loads(in_json.stdout)["verdict"]
    assert (verdict["kind"], verdict["found"]) == (kind, found)
    spoken = verdict["sentence"].replace(" us", " µs")
    text = " ".join(in_text.stdout.split())
    assert spoken in text and sentence in text
    assert bool(re.search("loses|Nagle", text)) == (found == "stalls")
    assert html.escape(verdict["sentence"], quote=False) in in_page.stdout
    assert {in_json.returncode, in_text.returncode, in_page.returncode} == {CODES[kind]}
    assert (verdict["because"] is not None) == (kind == "cannot-tell")
    assert (verdict["endpoint"] is None) == (found == "nothing")


@pytest.mark.parametrize("loaded_ms, answer_ms, found, sentence", [
    (1000, 0.3, "application", START_NOTE.format("7?? ms", "730 ms")),  # QTBUG-119614: TLS starts slowly
    (1715, 0.3, "no-stall", START_NOTE.format("1?.? ms", "15.0 ms")),  # worth a note
    (1725, 0.3, "no-stall", None),
    (1000, 100, "no-stall", START_NOTE.format("7?? ms", "730 ms")),  # more of it was the peer's
    (1000, 1000, "no-stall", None),
    (0, 0.3, "no-stall", None),  # an older library
])
def test_a_slow_start_is_told(tmp_path, loaded_ms, answer_ms, found, sentence):
    table = STARTING.replace("loaded 1000", f"loaded {loaded_ms}")
    table = table.replace(" 300000", f" {answer_ms * 1e6:.0f}")
    told_json = json.loads(unstall("report", "--json", make_stats_file(tmp_path / "x.unstall", table),
                                   check=True).stdout)
    verdict = told_json["verdict"]
    assert (verdict["kind"], verdict["found"]) == ("none", found)
    said = [text for text in (verdict["sentence"], *verdict["notes"]) if text.startswith("Not the network")]
    assert len(said) == (1 if sentence else 0)
    assert not sentence or fnmatch.fnmatchcase(said[0], sentence)


@pytest.mark.parametrize("accepted_ms, notes", [(1729, 0), (1731, 1)])
def test_the_time_until_the_first_client_is_no_slow_start(tmp_path, accepted_ms, notes):
    """A relay that had waited for its first client: "1.49 s in the application before its first write"."""
    table = STARTING + ("row 2 1 255 1 4 127.0.0.1 80\nexchange 2 300000 12\ncount 2 connections 1\n"
                        f"connection 2 2 255 1 {accepted_ms}000000 0 127.0.0.1 50000 127.0.0.1 80 12 3000\n")
    path = make_stats_file(tmp_path / "x.unstall", table)
    assert told(path).count("in the application before its first write") == notes


@pytest.mark.parametrize("table, line", [
    (STALLING, "Next: unstall run --mode auto -- python3 ..."),
    (PEER, "Next: unstall run --quickack auto -- python3 ..."),
    (CURED, "To measure what that is worth: unstall ab -- python3 ..."),
    (OFF, "Next: unstall observe -- python3 ..."),
    (BEHIND, "Next: unstall run --mode auto -- python3 ..."),
    (BEHIND_CURED, "To measure what that is worth: unstall ab --live -- python3 ..."),
    (BEHIND_ONCE, "Next: unstall ab --live -- python3 ..."),
], ids=["stalls", "peer", "cured", "off", "behind", "behind-cured", "behind-once"])
def test_it_ends_with_what_to_type_next(tmp_path, table, line):
    env = bare_env(LC_ALL="C", PATH="/usr/bin:/bin")
    assert told(make_stats_file(tmp_path / "x.unstall", table), env).endswith(f"\n{line}\n")


@pytest.mark.parametrize("env", [UTF8, ASCII], ids=["UTF-8", "C"])
@pytest.mark.parametrize("table", TABLES, ids=NAMES)
def test_no_line_is_longer_than_80_columns(tmp_path, table, env):
    long_names = table + "row 9 2 3 1 6 2001:0db8:1111:2222:3333:4444:5555:6666 65535\n" \
        "exchange 9 100000000000 999999999\ncount 9 stalls_bound 99999999\n" \
        "count 9 stall_bound_ns 999999999999999\n" \
        "count 9 writes 1\nlibrary 9.9.9\n"
    text = told(make_stats_file(tmp_path / "x.unstall", long_names), env)
    assert max(map(len, text.splitlines())) <= 80, text


@pytest.mark.parametrize("columns, headings", [
    (80, "exchanges median p99 stalls susp. cured time lost"),
    (60, "exchanges stalls cured time lost"),
])
def test_the_table_fits_the_terminal(tmp_path, columns, headings):
    """In 60 columns each of its lines broke."""
    path = make_stats_file(tmp_path / "x.unstall", STALLING)
    _, text = on_terminal(bare_env(LC_ALL="C.UTF-8", TERM="dumb"), columns, "report", str(path))
    heading, line = re.search(r"^(endpoint .*)\r?\n(.*)\r?$", text, re.MULTILINE).groups()
    assert " ".join(heading.split()[1:]) == headings
    assert len(heading.rstrip()) <= columns and len(line.rstrip()) <= columns


def test_a_bound_is_said_to_be_one_and_only_in_ascii_where_the_locale_has_no_more(tmp_path):
    path = make_stats_file(tmp_path / "x.unstall", SERVER)
    text = told(path, ASCII)
    assert text.isascii()
    assert "####" in text and "<=2.16 s" in text
    assert re.search(r"^ +67\.1 ms - 83\.9 ms +#+ +50$", text, re.MULTILINE)  # once only 67.1 ms
    text = told(path, UTF8)
    assert "█" in text and "≤2.16 s" in text
    assert "≤ an upper bound: for 49 stalls only the next request was seen" in text
    assert "bound" not in told(make_stats_file(tmp_path / "y.unstall", STALLING))


@pytest.mark.parametrize("table, said", [
    (CURED.replace("cured 99", "cured 1"), "Cured: up to 1 message with 127.0.0.1:8080 would have stalled"),
    (SUSPECTED.replace("suspected 99", "suspected 1"), "1 message with 127.0.0.1:8080 looks like a stall"),
    (STDIO.replace("1035", "1"), "127.0.0.1:8080, 1 byte more was sent than it saw written"),
    (ONE_WAY.replace("500", "1 reads 1"), "none was seen with 127.0.0.1:514, in 1 write and 1 read."),
    (SERVER.replace("stalls_bound 49", "stalls_bound 1"), "an upper bound: for 1 stall only the next"),
    (STALLING + "module 1000 9000 0 aabb /x\npattern 1 2000 3000 1 1 40000000\n", "- 1 message, 1 stall, "),
    (WELL + "count 1 quickack_saved_ns 4200000000\n",
     "UNSTALL_QUICKACK has saved about 4.20 s of the peers' stalls."),
    (STALLING.replace("4 127.0.0.1 8080", "0 - 0", 1),
     "in 96 of 100 exchanges with other endpoints: it sends"),
], ids=["1 cured", "1 suspected", "1 unseen", "one way", "bound", "pieces", "saved", "other"])
def test_counts_are_told_in_words_and_one_is_no_plural(tmp_path, table, said):
    """It said "1 messages"."""
    assert said in " ".join(told(make_stats_file(tmp_path / "x.unstall", table)).split())


@pytest.mark.parametrize("no_color, coloured",
                         [({}, True), ({"NO_COLOR": ""}, True), ({"NO_COLOR": "1"}, False)])
def test_colours_are_for_terminals_only_and_no_color_is_heeded(tmp_path, no_color, coloured):
    path = make_stats_file(tmp_path / "x.unstall", STALLING)
    env = bare_env(TERM="xterm", LC_ALL="C.UTF-8", **no_color)
    if not no_color:
        env.pop("NO_COLOR", None)
    _, text = on_terminal(env, 80, "report", str(path))
    assert ("\033[" in text) is coloured and "\033" not in told(path, env)
    assert "loses" in text


def test_what_a_terminal_would_obey_is_not_passed_on(tmp_path):
    table = STALLING + "program /tmp/evil\033[2Jname\n"
    text = told(make_stats_file(tmp_path / "x.unstall", table))
    assert "\033" not in text
    assert "evil?[2Jname" in text


def test_several_processes_are_added_up_and_listed(tmp_path):
    make_stats_file(tmp_path / "1.unstall", STALLING)
    make_stats_file(tmp_path / "2.unstall",
                    STALLING + "header pid 4712\nheader started 1767225601000000000\n")
    text = " ".join(told(tmp_path).split())
    assert "python3 (pid 4711), mode observe, ended" in text
    assert "python3 (pid 4712), mode observe, ended" in text
    assert "python3 (2 processes) loses 43.8 ms in 192 of 200 exchanges" in text
    assert "8.40 s lost" in text


# Started in observe, then set to auto, then to off: each mode has a row of its own.
OBSERVED = row("127.0.0.1 8080", "connections 19 messages 19 bursts 19 bursts_of_2 19 suspects 19 "
               "stalls_proved 19 stall_ns 854000000", "44000000 19", role=1)
THEN_CURED = row("127.0.0.1 8080", "connections 38 bursts 38 stalls_cured 40", "236000 38", role=1, mode=5,
                 number=2)
THEN_OFF = row("127.0.0.1 8080", "connections 19 bursts 19", "43500000 19", role=1, mode=0, number=3)
LOST = ("python3 (pid 4711) lost 44.9 ms in 19 of 19 exchanges at 127.0.0.1:8080, on connections that began "
        "in mode observe: it sends each answer in two small writes and Nagle holds the second. 854 ms lost. "
        "The mode was {} at the end.")


@pytest.mark.parametrize("table, found, said, last", [
    (OBSERVED + "header mode 5\n", "stalls", LOST.format("auto"), None),
    (OBSERVED + THEN_CURED, "cured", LOST.format("auto"),
     "To measure what that is worth: unstall ab --live --"),
    (OBSERVED + THEN_CURED + THEN_OFF, "stalls", LOST.format("off"), "Next: unstall run --mode auto --"),
    # the row has both, and it told "the median exchange takes 44.9 ms"
    (OBSERVED + "header mode 5\ncount 1 stalls_cured 2\n", "cured", "would have stalled, about 40 ms each.",
     "To measure what that is worth: unstall ab --live --"),
], ids=["no traffic since", "cured", "off", "both in one row"])
def test_after_a_change_of_mode_the_past_is_past(tmp_path, table, found, said, last):
    """The past was told in the present tense, and `set PID auto` proposed where the mode was auto already."""
    path = make_stats_file(tmp_path / "x.unstall", table)
    text = " ".join(told(path).split())
    assert said in text and found == json.loads(
        unstall("report", "--json", path, env=UTF8, check=True).stdout)["verdict"]["found"]
    assert last in text if last else "Next:" not in text and "To measure" not in text


# Another program, which has lost less and stalls still.
STILL = "header pid 5000\nheader started 1767225602000000000\n" + row(
    "127.0.0.1 9090", "connections 1 messages 10 bursts 10 bursts_of_2 10 stalls_proved 9 stall_ns 396000000",
    "44000000 10")


def test_one_that_stalls_still_comes_before_a_heavier_one_that_is_cured(tmp_path):
    """The heaviest row alone was asked whether its stalls are past: the report of a folder said "Cured"."""
    make_stats_file(tmp_path / "a.unstall", OBSERVED + THEN_CURED)
    make_stats_file(tmp_path / "b.unstall", STILL)
    done = unstall("report", tmp_path, env=UTF8)
    text = " ".join(done.stdout.split())
    assert "python3 (pid 5000) loses 44.0 ms in 9 of 10 exchanges with 127.0.0.1:9090: it sends" in text
    assert "In all, 1.25 s were lost in 28 stalls, at 2 endpoints. Cured: up to 40 messages" in text
    assert done.returncode == 1 and text.endswith("Next: unstall run --mode auto -- python3 ...")


def test_what_some_processes_cure_and_others_do_not_is_not_past(tmp_path):
    """The mode of the last process was told as that of all."""
    make_stats_file(tmp_path / "a.unstall", OBSERVED + THEN_OFF + "header pid 4712\n")
    make_stats_file(tmp_path / "b.unstall", OBSERVED + THEN_CURED)
    done = unstall("report", tmp_path, env=UTF8)
    text = " ".join(done.stdout.split())
    assert "(2 processes) lost 44.9 ms in 38 of 38 exchanges at 127.0.0.1:8080, on connections" in text
    assert "1.71 s lost. The modes were others at the end, from off to auto." in text
    assert done.returncode == 1 and "Next: unstall run --mode auto --" in text


THEN_NODELAY = row("127.0.0.1 8080", "connections 19 bursts 19 stalls_cured 19", "248000 19", role=1, mode=2,
                   number=4)


def test_cured_messages_are_counted_in_every_mode(tmp_path):
    """The sentence told those of one mode, and the distribution was headed as that of the endpoint."""
    path = make_stats_file(tmp_path / "x.unstall", OBSERVED + THEN_CURED + THEN_NODELAY)
    text = " ".join(told(path).split())
    assert "Cured: up to 40 messages at 127.0.0.1:8080" in text
    assert " In all, up to 59 messages would have stalled. " in text  # at one endpoint
    assert "Exchanges at 127.0.0.1:8080 in mode auto, with the peer's time" in text


def test_each_row_tells_its_mode_where_they_differ(tmp_path):
    """Rows could not be told apart; and in mode off, where stalls are not looked for, there were "0"."""
    text = told(make_stats_file(tmp_path / "x.unstall", OBSERVED + THEN_CURED + THEN_OFF))
    rows = " ".join(text.split())
    assert "at 127.0.0.1:8080 observe 19 " in rows and "at 127.0.0.1:8080 auto 38 " in rows
    assert "at 127.0.0.1:8080 off 19 43.5 ms 43.5 ms ? ? 0 ? " in rows
    assert "The mode is that in which a connection began. ? stalls are not looked for in mode off" in rows
    page = unstall("report", "--html", "-", tmp_path / "x.unstall", check=True).stdout
    assert "at 127.0.0.1:8080, mode off" in page and ">?</td>" in page
    assert "observe " not in told(make_stats_file(tmp_path / "y.unstall", OBSERVED)).split("endpoint", 1)[1]


# 43 clients, each its own process, of one server that stalls; the server listens at any address.
STALLING_SERVER = (
    "header pid 5000\nheader started 1767225602000000000\nprogram /usr/bin/perl\n" +
    row("0.0.0.0 8080", "connections 40 messages 40 bursts 40 bursts_of_2 40 stalls_proved 40 "
        "stall_ns 1760000000", "44000000 40", role=1) +
    "connection 1 1 255 1 2000000000 0 127.0.0.1 40000 127.0.0.1 8080 40 44000000\n")
ITS_CLIENT = "header pid {pid}\nprogram /usr/bin/curl\n" + row(
    "127.0.0.1 8080", "connections 1 messages 20 peer_stalls 20 peer_stall_ns 880000000", "44000000 20")


def test_a_folder_blames_the_program_that_stalls_and_no_other(tmp_path):
    """The sentence took the first process of the folder, a client, while Next took the heaviest; and the
    stalls were told a second time from the clients' side."""
    make_stats_file(tmp_path / "a.unstall", ITS_CLIENT.format(pid=4001))
    make_stats_file(tmp_path / "b.unstall", ITS_CLIENT.format(pid=4002))
    make_stats_file(tmp_path / "c.unstall", STALLING_SERVER)
    sentence = ("perl (pid 5000) loses 44.0 ms in 40 of 40 exchanges at 0.0.0.0:8080: it sends each answer "
                "in two small writes and Nagle holds the second. 1.76 s lost.")
    text = " ".join(told(tmp_path).split())
    assert sentence in text and text.endswith("Next: unstall run --mode auto -- perl ...")
    verdict = json.loads(unstall("report", "--json", tmp_path, env=UTF8, check=True).stdout)["verdict"]
    assert verdict["sentence"] == sentence and verdict["notes"] == []
    page = unstall("report", "--html", "-", tmp_path, check=True).stdout
    assert "<title>perl (pid 5000)" in page and "The peer stalls" not in page
    make_stats_file(tmp_path / "d.unstall",
                    ITS_CLIENT.format(pid=4003).replace("127.0.0.1", "10.0.0.1"))
    assert "The peer stalls: from 10.0.0.1:8080 the rest of 20 messages" in " ".join(told(tmp_path).split())


def test_clients_that_stall_are_not_told_a_second_time_by_their_server(tmp_path):
    client = ITS_CLIENT.replace("peer_stalls", "stalls_proved").replace("peer_stall_ns", "stall_ns")
    server = STALLING_SERVER.replace("stalls_proved", "peer_stalls").replace("stall_ns", "peer_stall_ns")
    make_stats_file(tmp_path / "a.unstall", server)
    make_stats_file(tmp_path / "b.unstall", client.format(pid=4001))
    make_stats_file(tmp_path / "c.unstall", client.format(pid=4002).replace("curl", "wget"))
    text = " ".join(told(tmp_path).split())
    assert " (2 processes) lose 44.0 ms in 40 of 40 exchanges with 127.0.0.1:8080: " in text
    assert "and others (2" in text and "peer stalls" not in text


def test_a_killed_process_is_said_to_be_one(tmp_path):
    text = told(make_stats_file(tmp_path / "x.unstall", STALLING + "header ended 0\nheader pid 4194305\n"))
    assert text.startswith("python3 (pid 4194305), mode observe, started 2026-01-01T00:00:00.123Z, killed\n")


def test_losses_of_the_segment_are_told(tmp_path):
    text = told(make_stats_file(tmp_path / "x.unstall",
                             STALLING + "header lost_rows 7\nheader lost_connections 9\n"))
    assert "7 endpoints found no free row and are counted as other" in text
    assert "9 connections have no record: too many at once" in text
    one = told(make_stats_file(tmp_path / "one.unstall",
                               STALLING + "header lost_rows 1\nheader lost_connections 1\n"))
    assert "1 endpoint found no free row and is counted as other" in one
    assert "1 connection has no record: too many at once" in one
    page = unstall("report", "--html", "-", tmp_path / "x.unstall", check=True).stdout  # once without them
    assert "<p>7 endpoints found no free row" in page and "<p>9 connections have no record" in page
