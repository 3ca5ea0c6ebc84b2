# SPDX-License-Identifier: MIT
"""What each command says of one small write that waits behind an earlier message.

The client sends A (26 bytes) and B (9), which is never answered, reads the answer of A, and sends C (33): C
waits behind B.  `scan` told of A and B, and to join them.
"""

import contextlib
import json
import re
import socket
import subprocess

import pytest
from test_scan import need, scan_until_told
from test_top import Terminal

from harness import (COMMAND, PROGRAMS, CrossingPeer, bare_env, patiently, preload_env, program, spawned,
                     started_server, stats_directory, unstall, wait_for)

PAIR = (r"messages, [1-9]\d* stalls, \S+ m?s lost: the held message \(33 bytes\) is written by exchange "
        r"\(crossing\.c:{C}\) in crossing\S*, through say; the one before \(9 bytes\), not acknowledged yet, "
        r"by exchange \(crossing\.c:{B}\) in crossing\S*, through say: set TCP_NODELAY there\.")


def pair():
    """PAIR with the lines of the program."""
    lines = (PROGRAMS / "crossing.c").read_text("utf-8").splitlines()
    last_of = {what: max(number for number, line in enumerate(lines, 1) if f"say(fd, '{what}', " in line)
               for what in "BC"}
    return re.compile(PAIR.format(**last_of))


def words(text):
    return " ".join(text.split())


@contextlib.contextmanager
def client(mode, count=100000, **variables):
    """The process; it ends by itself after `count` exchanges."""
    env = bare_env(**variables) if mode == "bare" else preload_env(mode, **variables)
    with CrossingPeer() as peer:
        with spawned([program("crossing"), *peer.target, str(count), "closes"], env,
                     stdout=subprocess.DEVNULL) as process:
            yield process


def test_the_report_tells_the_stall_its_number_and_its_code():
    def attempt():
        with stats_directory() as folder:
            with client("observe", 30, UNSTALL_STATS=folder) as process:
                assert process.wait(30) == 0
            text = words(unstall("report", folder, check=True).stdout)
            told = json.loads(unstall("report", "--json", folder, check=True).stdout)
            page = words(unstall("report", "--html", "-", folder, check=True).stdout)
        assert "it sends a small message while the one before is not acknowledged yet, and Nagle" in text
        assert pair().search(text)
        assert pair().search(page) and "writev" not in page
        row = max(told["rows"], key=lambda row: row["exchanges"])
        worst = max(told["processes"][0]["patterns"], key=lambda pattern: pattern["stalls"])
        assert row["stalls_crossing"] == row["stalls_proved"] + row["stalls_bound"] > 25
        assert worst["behind"]
        assert [write["bytes"] for write in worst["occurrences"][0]] == [9, 33]

    patiently(attempt)  # a stall that a busy machine makes longer is no proof


def test_of_two_messages_in_one_call_the_second_waits():
    """sendmmsg(2) makes both before anybody can look.  The report said that the first one waited."""
    def attempt():
        with stats_directory() as folder:
            with started_server([program("server_pipelined"), "pairs"], "observe",
                                UNSTALL_STATS=folder) as (_, port):
                with socket.create_connection(("127.0.0.1", port), timeout=20) as sock:
                    for _ in range(20):
                        sock.sendall(b"q" * 50)
                        left = 300
                        while left > 0:
                            left -= len(sock.recv(left))
            told = json.loads(unstall("report", "--json", folder, check=True).stdout)
        row = max(told["rows"], key=lambda row: row["exchanges"])
        assert row["stalls_proved"] + row["stalls_bound"] > 10
        assert row["stalls_crossing"] == 0

    patiently(attempt)


def test_top_counts_it_and_opens_its_code(folder):
    with client("observe", UNSTALL_STATS=folder), \
            Terminal(COMMAND, "top", "--interval", "0.5", folder, columns=100, lines=40) as terminal:
        terminal.wait_for(r"^[^;]*; \S+ exchanges/s, [1-9]\S* stalls/s")
        terminal.type("Enter")
        terminal.wait_for(r"[1-9]\d* stalls \([1-9]\d* behind an earlier message\), ")
        wait_for(lambda: pair().search(words(terminal.see())))  # a later frame has the code, too


def test_metrics_count_it(folder):
    with client("observe", 20, UNSTALL_STATS=folder) as process:
        assert process.wait(30) == 0
    said = unstall("metrics", folder, check=True).stdout
    assert re.search(r"^unstall_stalls_crossing_total\{.*\} [1-9]\d*$", said, re.MULTILINE)


@pytest.mark.parametrize("way", ["text", "json", "html"])
def test_scan_tells_the_pair_that_stalls(way):
    need("exact")
    flags = {"text": [], "json": ["--json"], "html": ["--html", "-"]}[way]
    with client("bare") as process:
        said = scan_until_told(lambda seconds: unstall("scan", "--source", "exact", "--time", seconds,
                                                       "--pid", process.pid, *flags),
                               lambda done: "crossing.c" in done.stdout).stdout
    if way != "json":
        assert pair().search(words(said))
        assert "26 bytes" not in said
        return
    place, = json.loads(said)["places"]
    pattern, = place["patterns"]
    assert pattern["behind"] and [write["bytes"] for write in pattern["occurrences"][0]] == [9, 33]


def test_where_it_was_cured_the_one_that_had_to_be_seen_is_no_verdict():
    """In auto the report said that the program stalls, and to start it in auto."""
    def attempt():
        with stats_directory() as folder:
            with CrossingPeer(notes=True) as peer:
                subprocess.run([program("crossing"), *peer.target, "30", "subscribes"], check=True,
                               env=preload_env("auto", UNSTALL_STATS=folder), stdout=subprocess.DEVNULL,
                               timeout=30)
            text = words(unstall("report", folder, check=True).stdout)
        assert re.search(r"Cured: up to \d+ messages .* Before, [12] stalled, \d+(\.\d)? ms: what waits "
                         r"behind an "
                         r"earlier message is cured once that was seen\.", text)
        assert "loses" not in text and "To measure what that is worth: unstall ab -- " in text
        assert re.search(r"- \d+ messages: the held message \(9 bytes\) and the one before \(9 bytes\), not "
                         r"acknowledged yet, are written by (exchange|say) \(crossing\.c:\d+\)", text)

    patiently(attempt)
