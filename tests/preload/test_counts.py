# SPDX-License-Identifier: MIT
"""What is counted of scripts of writes, reads and pauses (programs/scripted.c)."""

import pytest

from harness import (CURING_MODES, MODE_NUMBERS, MODES, WIDE, preload_env, program, read_reports,
                     report_pattern, run, run_client, stats_directory, stats_files_in, stats_in)

TRIES = 5  # a busy machine takes 40 ms for nothing


def counts(script, mode, folder, **variables):
    """What the report and the statistics file both say, and the option of the last connection."""
    with stats_directory() as directory:
        done = run_client(program("scripted"), mode, *script.split(), UNSTALL_STATS=directory,
                          UNSTALL_REPORT=report_pattern(folder), **WIDE, **variables)
        report, = read_reports(folder)
        stats_file = stats_in(directory)
    assert stats_file["mode"] == MODE_NUMBERS[mode]
    assert stats_file["window_us"] == int(WIDE["UNSTALL_WINDOW_US"])
    totals = {name: stats_file.total(name)
              for name, number in stats_file.rows[0].items() if isinstance(number, int)}
    totals["longest_ns"] = max(record["exchange_longest_ns"] for record in stats_file["records"])
    said = {name: number for name, number in report.items() if name in totals and name != "mode"}
    said.update({f"pushes_{cause}": number for cause, number in report["pushes"].items()})
    assert {name: totals[name] for name in said} == said
    return {**totals, **done.facts}


def lines(number):
    return " ".join(["w10"] * number) + " r "


@pytest.mark.parametrize("mode", MODES)
def test_a_message_is_counted(mode, tmp_path):
    """Four exchanges make the connection known: then it is held or buffered where the mode holds."""
    warm, n = "w10 w10 r " * 4, 4
    found = counts(warm + "w10 f20 r w10 r", mode, tmp_path)
    expected = {"writes": 2 * n + 3, "bytes": 20 * n + 40, "messages": n + 2, "bursts": n + 1, "turns": n + 2,
                "reads": n + 2, "exchanges": n + 2, "answers": n + 1, "small_writes": 2 * n + 3,
                "first_writes": 1, "connections": 1, "unseen_bytes": 0}
    assert {name: found[name] for name in expected} == expected
    assert (found["held_writes"] > 0) is (mode in ("cork", "auto"))
    assert (found["buffered_writes"] > 0) is (mode == "coalesce")


def test_bursts_are_counted_by_their_writes(tmp_path):
    found = counts("".join(lines(number) for number in range(1, 10)), "nodelay", tmp_path)
    assert [found[f"bursts_of_{name}"] for name in ("2", "3", "4_to_7", "8_or_more")] == [1, 1, 4, 2]


@pytest.mark.parametrize("mode", MODES)
def test_input_in_pieces_is_one_answer(mode, tmp_path):
    found = counts("w10 r s30 p10 s30 p10 w10 r", mode, tmp_path)
    assert (found["exchanges"], found["answers"], found["reads"]) == (2, 1, 4)


# script, mode, a condition of what is found
FOUND = {
    "a message is cured once":
        ("w10 w10 w10 r " * 4, CURING_MODES, lambda c: 1 <= c["stalls_cured"] <= 4),
    "a second write after the acknowledgement has nothing to be cured of":
        ("w10 s80 w10 r " * 4, ("nodelay", "cork", "auto"), lambda c: c["stalls_cured"] == 0),
    "nor one behind the application's own option":
        ("n1 " + "w10 w10 r " * 4, CURING_MODES, lambda c: c["stalls_cured"] + c["late_pushes"] == 0),
    "a mode that cures nothing says so":
        ("w10 w10 r " * 4, ("off", "observe"), lambda c: c["stalls_cured"] + c["late_pushes"] == 0),
    "a message is looked at once":
        ("w10 w10 w10 w10 r " * 6, ("observe",), lambda c: 1 <= c["suspects"] <= 6),
    "a stall behind a write that was not held is found at the next message":
        ("q1 w10 s5 q0 w10 w10 r " * 8, ("observe",), lambda c: c["stalls_proved"] >= 4),
    "a stall is found behind bytes that were held for a moment":
        ("q0 P50 w10 w10 g50 P10 w10 w10 g10 r c " * 8, ("observe",), lambda c: c["stalls_proved"] >= 6),
    "the end of a connection settles a stall":
        ("w10 w10 r w10 w10 r w10 w10 s80 c " * 4, ("observe",), lambda c: c["stalls_proved"] >= 6),
    "an answer is timed from the last piece of its question":
        ("w10 r s40 p10 s40 p10 s60 w10 r", MODES, lambda c: 55_000_000 < c["answer_ns"] < 95_000_000),
    "the longest exchange is kept":
        ("w10 s90 r w10 r", MODES, lambda c: c["longest_ns"] > 85_000_000),
    "bytes from before us are not unseen":
        ("U w10 r w10 r", MODES, lambda c: c["unseen_bytes"] == 0 and c["bytes"] == 20),
    "a connection without bytes is none":
        ("c c w10 r", MODES, lambda c: c["connections"] == 1),
    "a stream that the application corks keeps Nagle, if nothing answers":
        ("k1 w10 k0 " * 9, ("auto",), lambda c: c["nodelay"] == 0),
}


@pytest.mark.parametrize("mode, name", [(mode, name) for name, (_, modes, _) in FOUND.items()
                                        for mode in modes])
def test_what_is_found(mode, name, tmp_path):
    script, _, is_so = FOUND[name]
    for number in range(TRIES):
        folder = tmp_path / str(number)
        folder.mkdir()
        found = counts(script, mode, folder)
        if is_so(found):
            return
    assert is_so(found), found


@pytest.mark.parametrize("mode, how", [*[(mode, "F") for mode in MODES], ("auto", "_"), ("auto", "C")])
def test_a_child_counts_its_own_alone(mode, how, tmp_path):
    with stats_directory() as directory:
        done = run_client(program("scripted"), mode, *f"w10 w10 r c w10 r {how} w10 w10 w10 r w10 r".split(),
                          UNSTALL_STATS=directory, UNSTALL_REPORT=report_pattern(tmp_path))
        assert done.facts["mapped"] == 1, "its parent's file is not there"
        files = [[file.total(name) for name in ("connections", "writes", "bytes", "bursts", "exchanges")]
                 for file in stats_files_in(directory)]
    assert files == [[2, 3, 30, 1, 2], [1, 4, 40, 1, 2]]
    names = ("connections", "writes", "bytes", "bursts")
    assert sorted([report[name] for name in names] for report in read_reports(tmp_path)) == [
        [1, 4, 40, 1], [2, 3, 30, 1]]


def test_a_program_that_is_replaced_has_counted(tmp_path):
    with stats_directory() as directory:
        run([program("scripted"), *"w10 w10 r w10 E".split()],
            preload_env("nodelay", UNSTALL_STATS=directory, UNSTALL_REPORT=report_pattern(tmp_path),
                        UNSTALL_CHILDREN=0))
        assert stats_in(directory).total("writes") == 3
    assert [report["writes"] for report in read_reports(tmp_path)] == [3]


@pytest.mark.parametrize("level, told", [(0, 0), (1, 1), (2, 2)])
def test_late_pushes_are_told(level, told):
    """The first of a connection, or each: after another program has run TCP_NODELAY is set again."""
    done = run_client(program("scripted"), "nodelay", *"w10 w10 r x w10 f20 r".split(), UNSTALL_VERBOSE=level,
                      UNSTALL_CHILDREN=0)
    pushes = [line for line in done.stderr.splitlines() if line.endswith(": TCP_NODELAY set")]
    assert len(pushes) == told
    for line, size in zip(pushes, (10, 20)):
        assert f"a second small write ({size} bytes)" in line and " to 127.0.0.1 port " in line
    assert done.stderr.count("]: mode nodelay, window 1000 us, small 4096 bytes\n") == (level > 0)
