# SPDX-License-Identifier: MIT
"""unstall report --json: everything in a statistics file, in the form that the manual documents."""

import contextlib
import json
import os
import re
import signal

import pytest

from harness import SOURCE_ROOT, AnsweringPeer, filled_manual, patiently, stats_directory, unstall
from stats_files import STALLING, make_stats_file
from talkers import staller

def report(*words):
    return json.loads(unstall("report", "--json", *words, check=True).stdout)


def row_of(told, role):
    return next(row for row in told["rows"] if row["role"] == role)


def test_a_table_comes_back(tmp_path):
    told = report(make_stats_file(tmp_path / "one.unstall", STALLING))
    assert told["unstall"] and told["library"] == "0.1.0"
    assert (told["pid"], told["program"], told["mode"], told["state"]) == \
        (4711, "/usr/bin/python3", "observe", "ended")
    assert told["started"] == "2026-01-01T00:00:00.123Z"
    assert told["ran_ns"] == 12_300_000_000
    row = row_of(told, "destination")
    assert (row["endpoint"], row["arm"], row["mode"]) == ("127.0.0.1:8080", None, "observe")
    assert (row["exchanges"], row["stalls_proved"], row["stall_ns"]) == (100, 96, 4_200_000_000)
    assert row["exchange"]["steps"] == 32
    assert [count for _, count in row["exchange"]["buckets"]] == [4, 96]
    (connection,) = told["connections"]
    assert (connection["peer"], connection["local"], connection["exchanges"]) == \
        ("127.0.0.1:8080", "127.0.0.1:40000", 100)
    assert connection["exchange"]["steps"] == 4
    assert [count for _, count in connection["exchange"]["buckets"]] == [100]


COUNTERS = re.findall(r'NAME\([A-Z]\w+,\s*(\w+),', re.sub(r"\\\n", "", (
    SOURCE_ROOT / "src/stats_file/stats_format.h").read_text(encoding="utf-8")))


def test_every_counter_of_the_format_is_there(tmp_path):
    assert len(COUNTERS) > 40
    row = row_of(report(make_stats_file(tmp_path / "one.unstall", STALLING)), "destination")
    assert [name for name in COUNTERS if not isinstance(row.get(name), int)] == []


def test_the_manual_explains_every_counter_and_key(tmp_path):
    manual = filled_manual("unstall.1").replace("\\_", "_")
    assert [name for name in COUNTERS if f"*{name}*\n" not in manual] == []
    told = report(make_stats_file(tmp_path / "one.unstall", STALLING))
    assert [key for key in told if f"*{key}*" not in manual] == []
    assert [key for key in told["control"] if f"*{key}*" not in manual] == []


def test_the_processes_of_a_folder_add_up(tmp_path):
    make_stats_file(tmp_path / "1.unstall", STALLING)
    make_stats_file(tmp_path / "2.unstall",
                    STALLING + "header pid 4712\nheader started 1767225600000000000\n")
    told = report(tmp_path)
    assert [process["pid"] for process in told["processes"]] == [4712, 4711]
    row = row_of(told, "destination")
    assert (row["exchanges"], row["stalls_proved"]) == (200, 192)
    assert [count for _, count in row["exchange"]["buckets"]] == [8, 192]


@contextlib.contextmanager
def started_talker():
    """A Python client that has made 20 exchanges of two small writes, and waits."""
    with AnsweringPeer() as peer, stats_directory() as folder, staller(folder, peer, 20) as process:
        yield process, folder, peer


@pytest.fixture(name="talker")
def a_talker():
    with started_talker() as talker:
        yield talker


def test_a_running_process_is_found_by_its_id():
    def attempt():
        with started_talker() as (process, _, peer):
            told = report(str(process.pid))
        assert (told["pid"], told["state"]) == (process.pid, "runs")
        assert told["program"].startswith("/usr/bin/python3")
        row = row_of(told, "destination")
        assert row["endpoint"] == f"127.0.0.1:{peer.port}"
        assert (row["writes"], row["bursts"], row["exchanges"]) == (40, 20, 20)
        assert sum(count for _, count in row["exchange"]["buckets"]) == 20
        assert row["bytes"] == 20 * 300

    patiently(attempt, 3)  # a pause of 20 ms within a message makes two of it


def test_a_killed_process_is_read_back_whole(talker):
    process, folder, _ = talker
    before = report(folder)["processes"][0]
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    after = report(folder)["processes"][0]
    assert (before["state"], after["state"]) == ("runs", "killed")
    assert after["ran_ns"] is None
    assert (after["rows"], after["connections"]) == (before["rows"], before["connections"])


def test_reading_does_not_fill_holes_and_tells_the_end(talker):
    """The library fills only the pages that it needs.  A reader must not fill the others."""
    process, folder, _ = talker
    (path,) = folder.iterdir()
    for state in ("runs", "ended"):
        if state == "ended":
            process.stdin.close()
            process.wait(20)
        before = path.stat().st_blocks
        assert before * 512 < path.stat().st_size / 2
        for words in (["report", path], ["report", "--json", path], ["metrics", folder],
                      ["top", "--once", "--interval", "0.1", folder]):
            unstall(*words, check=True)
        assert path.stat().st_blocks == before
        assert report(path)["state"] == report(folder)["processes"][0]["state"] == state
