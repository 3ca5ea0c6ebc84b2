# SPDX-License-Identifier: MIT
"""unstall report --html: the page has the numbers of the statistics."""

import re

import pytest

from harness import unstall
from stats_files import STALLING, make_stats_file
from test_explain_page import pictures
from test_report_text import BEHIND, CURED, TLS


def page_of(folder, *tables):
    """The text of the page about a statistics file, or about a folder of several."""
    paths = [make_stats_file(folder / f"{n}-2.unstall", table) for n, table in enumerate(tables, 1)]
    return unstall("report", "--html", "-", folder if len(paths) > 1 else paths[0], check=True).stdout


def test_the_page_has_verdict_ladder_distribution_and_tables(tmp_path):
    text = page_of(tmp_path, STALLING)
    said = unstall("report", tmp_path / "1-2.unstall", check=True).stdout
    sentence = re.search(r'<p class="verdict">(.*)</p>', text).group(1)
    assert sentence in " ".join(said.split())
    ladder, predicted, distribution = pictures(text)
    (held,) = [group for group in ladder.iter("g") if group.get("data-kind") == "held"]
    assert float(held.get("data-held-ms")) == pytest.approx(4200 / 96, abs=1e-3)
    assert [group.get("data-kind") for group in predicted.iter("g")] == ["data"]
    assert distribution.get("aria-label").startswith("100 values")
    assert re.search(r'to 127\.0\.0\.1:8080</td><td data-value="100">100</td>.*'
                     r'<td data-value="96">96</td>.*<td data-value="4\.2e\+09">4\.20 s</td>', text)
    assert "<code>unstall run --mode auto -- " in text


def test_the_page_says_when_where_and_by_what_it_was_made(tmp_path):
    """A page in a ticket said neither."""
    assert re.search(r"<footer><p>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d [+-]\d{4} on \S+, Linux \S+, by unstall "
                     r"[\d.]+: \S*unstall report --html ", page_of(tmp_path, STALLING))


@pytest.mark.parametrize("role, ends", [("2", ["the program", "127.0.0.1:8080"]),
                                        ("1", ["127.0.0.1:8080", "a client"])])
def test_the_ladder_names_both_ends(tmp_path, role, ends):
    """Once the peer of a server was named by the server's own address."""
    text = page_of(tmp_path, STALLING.replace("row 1 2", f"row 1 {role}"))
    for ladder in pictures(text)[:2]:
        assert [name.text for name in ladder.findall("text")] == ends


def test_the_ladder_has_the_sizes_of_its_own_endpoint(tmp_path):
    """Once it had those of the costliest pair of call sites of all endpoints."""
    other = "row {} 2 255 1 4 127.0.0.1 9090\npattern {} 4000 5000 9 9 4000000000\npieces 7 8\n"
    text = page_of(tmp_path, STALLING + "pattern 1 2000 3000 96 96 2200000000\npieces 210 99\n" +
                   other.format(2, 2), other.format(1, 1))  # there row 1 is the other endpoint
    ladder = pictures(text)[0]
    assert [name.text for name in ladder.findall("text")][1] == "127.0.0.1:8080"
    assert [group.find("text").text for group in ladder.iter("g") if group.get("data-kind") == "data"] == [
        "210 bytes", "99 bytes"]


def test_of_a_message_behind_an_earlier_one_no_pieces_are_to_be_joined(tmp_path):
    """The page proposed to send the pieces by one call, and predicted one segment."""
    text = page_of(tmp_path, BEHIND)
    assert "set TCP_NODELAY. The message that waits is one write" in text and "writev" not in text
    assert [group.get("data-kind") for group in pictures(text)[1].iter("g")] == ["data", "data"]
    assert "Predicted, with unstall: the second message leaves at once, too." in text


def test_each_table_has_a_name_of_its_own(tmp_path):
    names = re.findall('role="region" aria-label="([^"]*)"', page_of(tmp_path, STALLING))
    assert names == ["Endpoints", "Processes"]


def test_where_stalls_were_cured_the_second_ladder_is_measured(tmp_path):
    text = page_of(tmp_path, STALLING.replace("exchange 1 60000 4", "exchange 1 60000 40")
                   + "count 1 stalls_cured 39\n")
    cured = pictures(text)[1]
    kinds = {group.get("data-kind"): float(group.get("data-at-ms")) for group in cured.iter("g")}
    assert list(kinds) == ["data", "answer"] and kinds["answer"] == pytest.approx(0.06, rel=0.1)
    assert "39 stalls were cured; the median of the 40 exchanges" in text and "Predicted" not in text


def test_after_the_answer_of_a_server_comes_the_next_request(tmp_path):
    table = STALLING.replace("row 1 2", "row 1 1").replace("exchange 1 60000 4", "exchange 1 60000 40")
    text = page_of(tmp_path, table + "count 1 stalls_cured 39\n")
    assert [group.get("data-kind") for group in pictures(text)[1].iter("g")] == ["data", "next"]


@pytest.mark.parametrize("table", [CURED, TLS, ""])
def test_no_ladder_without_a_stall(tmp_path, table):
    assert "data-kind" not in page_of(tmp_path, table)


def test_a_damaged_file_gives_an_error_and_no_page(tmp_path):
    path, page = tmp_path / "1-2.unstall", tmp_path / "page.html"
    path.write_bytes(b"no statistics")
    done = unstall("report", "--html", page, path)
    assert (done.returncode, done.stderr.count("\n")) == (125, 1)
    assert not page.exists() and [one.name for one in tmp_path.iterdir()] == [path.name]


def test_a_folder_is_one_page_with_each_process(tmp_path):
    text = page_of(tmp_path, STALLING, STALLING, STALLING)
    assert text.count(", observe</td>") == 3 and '<td data-value="288">' in text


def test_the_heaviest_process_and_endpoint_come_first(tmp_path):
    text = page_of(tmp_path, CURED, STALLING, CURED)
    for table in re.findall("<tbody>(.*?)</tbody>", text, re.DOTALL):
        lost = [float(row) for row in re.findall(r'data-value="([^"]*)">[^<]*</td>\s*</tr>', table)]
        assert lost == sorted(lost, reverse=True) and lost[0] == 4.2e9
