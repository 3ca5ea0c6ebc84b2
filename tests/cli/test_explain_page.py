# SPDX-License-Identifier: MIT
"""unstall explain --html and --ladder: the pictures have the numbers of the recording."""

import json
import os
import re
import subprocess
import tempfile
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from captures import Capture, Dialog
from test_explain_capture import published
from test_explain_strace import Log

from harness import COMMAND, bare_env, unstall


def recorded(folder, capture, name="a.pcap"):
    path = folder / name
    path.write_bytes(capture.pcap())
    return path


def page_of(folder, *files):
    """The text of the page about these files."""
    page = folder / "page.html"
    unstall("explain", "--html", page, *files, check=True)
    return page.read_text("utf-8")


def pictures(text):
    """The SVGs of a page, in their order."""
    return [ElementTree.fromstring(svg) for svg in re.findall(r"<svg.*?</svg>", text, re.DOTALL)]


def parts(svg):
    """Kind -> its groups, in their order."""
    found = {}
    for group in svg.iter("g"):
        found.setdefault(group.get("data-kind"), []).append(group)
    return found


def number(element, name):
    return float(element.get(name))


def test_the_ladder_shows_43_5_ms_at_the_right_place(tmp_path):
    text = page_of(tmp_path, recorded(tmp_path, published()))
    ladder, predicted = pictures(text)[:2]
    found, scale = parts(ladder), number(ladder, "data-px-per-ms")
    (held,), (acknowledgement,), (first, rest) = found["held"], found["ack"], found["data"]
    assert number(held, "data-held-ms") == pytest.approx(43.536)
    assert number(acknowledgement, "data-at-ms") == pytest.approx(49.994 - 6.527)
    assert number(rest, "data-at-ms") == pytest.approx(50.063 - 6.527)
    top, bottom = (number(part.find("line"), "y1") for part in (first, acknowledgement))
    assert bottom - top == pytest.approx(43.467 * scale, abs=0.02)
    bar = held.find("rect")
    assert number(bar, "y") == pytest.approx(top)
    assert number(bar, "y") + number(bar, "height") == \
        pytest.approx(number(rest.find("line"), "y1"), abs=0.02)
    assert [part.find("text").text for part in (first, rest)] == ["160 bytes", "90 bytes"]
    (answer,), (predicted_answer,) = found["answer"], parts(predicted)["answer"]
    assert number(answer, "data-at-ms") == pytest.approx(52 - 6.527)
    # the peer is as quick as it was
    assert number(predicted_answer, "data-at-ms") == pytest.approx(52 - 50.063)
    (joined,) = parts(predicted)["data"]
    assert (joined.find("text").text, number(joined, "data-at-ms")) == ("250 bytes", 0)
    assert "Predicted" in text


@pytest.mark.parametrize("sizes", [(300,), (200, 100), (180, 110)])
@pytest.mark.parametrize("where", ["same connection", "another connection"])
def test_beside_the_stall_stands_a_message_of_the_file_that_was_not_held(tmp_path, sizes, where):
    dialog = Dialog()
    dialog.whole(0.01, size=20)  # a small message, not the stalled one
    dialog.stalls()
    if where == "another connection":
        dialog = Dialog(dialog.capture, at=1, ports=(40001, 80))
    number_before = len(dialog.capture.packets)
    dialog.exchange(2, sizes, answer=0.0007)
    dialog.whole(3, size=20)
    path = recorded(tmp_path, dialog.capture)
    text = page_of(tmp_path, path)
    found = parts(pictures(text)[1])
    assert [part.find("text").text for part in found["data"]] == [f"{size} bytes" for size in sizes]
    assert all(number(part, "data-at-ms") < 0.1 for part in found["data"])
    assert number(found["answer"][0], "data-at-ms") == pytest.approx(0.7 + 0.05 * (len(sizes) - 1))
    packets = " and ".join(str(number_before + 1 + i) for i in range(len(sizes)))
    assert f"not held: packet{'s' * (len(sizes) > 1)} {packets} of the file" in text
    assert "Predicted" not in text
    lines = unstall("explain", "--ladder", path, check=True).stdout
    assert "predicted" not in lines and "answer" in lines
    assert (":40001" in lines) == (where == "another connection")


@pytest.mark.parametrize("other", ["of another size", "of another service", "in pieces apart", "sent again"])
def test_no_other_message_is_taken_for_the_cured_one(tmp_path, other):
    dialog = Dialog().stalls()
    if other == "of another service":
        dialog = Dialog(dialog.capture, at=1, ports=(40001, 81))
        dialog.whole(2)
    elif other == "of another size":
        dialog.whole(2, size=400)
    elif other == "in pieces apart":
        dialog.exchange(2, (200, 100), apart=0.006)
    else:
        dialog.data(2, "c", 300)
        dialog.data(2.3, "c", 300, seq=dialog.next["c"] - 300)
        dialog.next["c"] -= 300
        dialog.data(2.301, "s", 250)
    assert "Predicted" in page_of(tmp_path, recorded(tmp_path, dialog.capture))


@pytest.mark.parametrize("answer, drawn", [(0.001, True), (3, False)])
@pytest.mark.parametrize("side, kind, label", [("c", "answer", "answer"), ("s", "next", "next request")])
def test_the_reply_is_named_and_makes_no_small_picture_of_the_stall(tmp_path, side, kind, label, answer,
                                                                    drawn):
    """A client's data is no answer, and the time until it comes may be its user's."""
    path = recorded(tmp_path, Dialog().stalls(apart=5, side=side, answer=answer).capture)
    for ladder in pictures(page_of(tmp_path, path))[:2]:
        replies = parts(ladder).get(kind, [])
        assert [reply.find("text").text for reply in replies] == [label] * drawn
        assert number(ladder, "data-px-per-ms") == pytest.approx(4, rel=0.01)
    said = unstall("explain", "--ladder", path, check=True).stdout
    assert said.count(f" {label} ") == 2 * drawn


def test_a_server_in_a_log_waits_for_the_next_request(tmp_path):
    log = Log()
    log.line(0, "socket(AF_INET, SOCK_STREAM, IPPROTO_TCP) = 3", took=0.01)
    log.line(1, 'accept4(3, {sa_family=AF_INET, sin_port=htons(40000), sin_addr=inet_addr("192.0.2.9")}, '
             "[16], SOCK_CLOEXEC) = 5", took=0.01)
    log.read(2, 0.01, fd=5)
    log.exchange(3, 0.5, fd=5)
    for i in range(20):
        log.exchange(100 + i * 100, 40 + i % 8, fd=5)
    path = tmp_path / "strace.log"
    path.write_text(log.text(), "utf-8")
    ladder = pictures(page_of(tmp_path, path))[0]
    assert list(parts(ladder)) == ["data", "held", "next"]


def test_a_long_stall_is_drawn_to_scale_too(tmp_path):
    capture = Dialog(at=0.001).stalls(apart=1, late=0.2).capture
    ladder = pictures(page_of(tmp_path, recorded(tmp_path, capture)))[0]
    found, scale = parts(ladder), number(ladder, "data-px-per-ms")
    first, acknowledgement = found["data"][0], found["ack"][0]
    assert scale < 2
    assert number(acknowledgement.find("line"), "y1") - number(first.find("line"), "y1") == \
        pytest.approx(number(acknowledgement, "data-at-ms") * scale, abs=0.02)


def test_the_page_has_the_bill_the_cure_and_the_distribution(tmp_path):
    capture = Dialog().stalls(100, first=0.001, late=0.0435).capture
    text = page_of(tmp_path, recorded(tmp_path, capture))
    assert "100 stalls" in text
    # 43.55 ms of each 100 ms, of which the last exchange lacks some
    hours = float(re.search(r"At this rate they cost ([\d.]+) h a day", text).group(1))
    assert hours == pytest.approx(24 * 0.4355, rel=0.02)
    assert "<code>unstall run -- PROGRAM</code>" in text and "quickack 1" in text and "writev" in text
    _, _, when, how_long = pictures(text)
    assert when.get("aria-label").startswith("100 stalled and 0 not, in ")
    assert how_long.get("aria-label").startswith("100 values")
    bars = [number(bar, "x") for bar in how_long.iter("rect")]
    forty = number(next(line for line in how_long.iter("line") if line.get("stroke-dasharray")), "x1")
    assert bars and all(0 <= x - forty < 30 for x in bars)
    for picture in (when, how_long):  # neither had numbers beside it
        beside = sorted((number(text, "y"), text.text) for text in picture.iter("text")
                        if text.get("text-anchor") == "end" and number(text, "x") < 48)
        heights = [number(bar, "height") for bar in picture.iter("rect") if number(bar, "height") != 10]
        assert beside[-1][1] == "0"
        assert int(beside[0][1]) * sum(heights) / max(heights) == pytest.approx(100, rel=0.02)


@pytest.mark.parametrize("source", ["capture", "log"])
def test_the_time_line_has_the_exchanges_that_stalled_and_the_others(tmp_path, source):
    path = tmp_path / "file"
    if source == "capture":
        dialog = Dialog()
        dialog.whole(0.01)  # before the first stall
        for i in range(46):
            (dialog.stall if i < 10 else dialog.whole)(0.05 + i * 0.1)
        path.write_bytes(dialog.capture.pcap())
    else:
        log = Log()
        log.connected()
        log.exchange(1, 0.5)
        for i in range(46):
            log.exchange(50 + i * 100, *((40 + i % 8,) if i < 10 else (0.4,)),
                         sizes=(200, 100) if i < 10 else (300,))
        path.write_text(log.text(), "utf-8")
    when = pictures(page_of(tmp_path, path))[2]
    assert when.get("aria-label").startswith("10 stalled and 36 not, in ")
    lasts = json.loads(unstall("explain", "--json", path, check=True).stdout)[0]["duration_ms"] / 1000
    axis = [text.text for text in when.iter("text")][-1]
    assert float(axis.removesuffix(" s")) <= round(lasts, 2), "the axis went on behind the recording's end"
    filled, outlined = ([number(box, "x") for box in when.iter("rect")
                         if ("--stall" in box.get("style")) == stalled and number(box, "height") != 10]
                        for stalled in (True, False))
    assert 3 <= len(filled) <= 10 and 10 <= len(outlined) <= 36
    assert max(filled) < min(outlined), "the stalls come first"


def test_a_bill_of_more_than_a_day_a_day_is_explained(tmp_path):
    capture = Capture()
    for client in range(3):
        Dialog(capture, at=0.001 * client, ports=(40000 + client, 80)).stalls(
            50, first=0.01 * client + 0.1, apart=0.05)
    text = page_of(tmp_path, recorded(tmp_path, capture))
    assert re.search(r"they cost \d\d\.\d h a day, "
                     r"added up over connections that stall at the same time\.", text)


def test_many_senders_make_a_small_page_heaviest_first(tmp_path):
    capture = Capture()
    for i in range(400):
        Dialog(capture, at=i * 0.001, client=f"10.0.{i // 200}.{i % 200 + 1}").stalls(
            1 + (i == 350), first=1 + i * 0.001, apart=1, late=0.045)
    text = page_of(tmp_path, recorded(tmp_path, capture))
    assert len(text) < 500_000
    rows = re.findall(r"<tr><td>([^<]*)</td>", text)
    assert rows[0] == "10.0.1.151" and 100 <= len(rows) <= 200


def test_several_files_are_one_page(tmp_path):
    files = [recorded(tmp_path, published(), name) for name in ("first.pcap", "second.pcap")]
    text = page_of(tmp_path, *files)
    assert text.count("<h2>") > 6 and "first.pcap</h2>" in text and "second.pcap</h2>" in text
    assert text.count("<!DOCTYPE") == 1


def test_names_are_escaped(tmp_path):
    text = page_of(tmp_path, recorded(tmp_path, published(), '<b>"&\xff\x01.pcap'))
    assert "&lt;b&gt;&quot;&amp;\xff?.pcap" in text and "<b>" not in text


@pytest.mark.parametrize("broken", ["cut", "nothing", "missing"])
def test_a_damaged_file_gives_an_error_and_no_page(tmp_path, broken):
    path, page = tmp_path / "a.pcap", tmp_path / "page.html"
    if broken == "cut":
        path.write_bytes(published().pcap()[:-7])
    if broken == "nothing":
        path.write_bytes(b"\0" * 100)
    page.write_text("an older page", "utf-8")
    done = unstall("explain", "--html", page, path)
    assert done.returncode == 125
    assert done.stderr.count("\n") == 1 and str(path) in done.stderr
    assert page.read_text("utf-8") == "an older page"
    assert {one.name for one in tmp_path.iterdir()} <= {"a.pcap", "page.html"}


def test_a_page_that_cannot_be_written(tmp_path):
    path = recorded(tmp_path, published())
    for page, why in ((tmp_path / "none" / "page.html", "No such file or directory"),
                      (tmp_path, "Is a directory")):
        done = unstall("explain", "--html", page, path)
        assert (done.returncode, done.stderr) == (125, f"unstall explain: --html {page}: {why}\n")
    assert {one.name for one in tmp_path.iterdir()} == {"a.pcap"}


def test_no_device_and_no_link_is_replaced_by_the_page(tmp_path):
    """Once, as root, a regular file took the place of /dev/full; and that of /dev/stdout, where standard
    output was a file whose name was gone, or outside of the root."""
    path, pipe, link = recorded(tmp_path, published()), tmp_path / "pipe", tmp_path / "link.html"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    unstall("explain", "--html", pipe, path, check=True)
    assert os.read(reader, 1 << 16).startswith(b"<!DOCTYPE html>") and pipe.is_fifo()
    os.close(reader)
    link.symlink_to("page.html")
    for _ in range(2):
        (tmp_path / "page.html").write_text("older", "utf-8")
        unstall("explain", "--html", link, path, check=True)
        assert link.is_symlink() and (tmp_path / "page.html").read_text("utf-8").startswith("<!DOCTYPE html>")
    (tmp_path / "page.html").unlink()
    unstall("explain", "--html", link, path, check=True)
    assert link.is_symlink() and (tmp_path / "page.html").read_text("utf-8").startswith("<!DOCTYPE html>")
    done = unstall("explain", "--html", "/dev/full", path)
    assert (done.returncode, done.stderr) == (
        125, "unstall explain: --html /dev/full: No space left on device\n")
    done = unstall("explain", "--html", "/dev/stdout", path, check=True)
    assert done.stdout.startswith("<!DOCTYPE html>") and done.stdout.endswith("</html>\n")
    with tempfile.TemporaryFile() as nameless:
        subprocess.run([COMMAND, "explain", "--html", "/dev/stdout", path], env=bare_env(), stdout=nameless,
                       check=False, timeout=60)
        assert Path("/dev/stdout").is_symlink()
        nameless.seek(0)
        assert nameless.read().startswith(b"<!DOCTYPE html>")


def test_the_name_of_a_page_may_be_as_long_as_a_name_can_be(tmp_path):
    page = tmp_path / ("p" * 250 + ".html")
    unstall("explain", "--html", page, recorded(tmp_path, published()), check=True)
    assert page.read_text("utf-8").startswith("<!DOCTYPE html>")


@pytest.mark.parametrize("locale, dash", [("C.UTF-8", "─"), ("C", "-")])
def test_the_ladder_as_text(tmp_path, locale, dash):
    path = recorded(tmp_path, published(client="2001:db8::1", server="2001:db8:1:2:3:4:5:6"))
    text = unstall("explain", "--ladder", path, env=bare_env(LC_ALL=locale), check=True).stdout
    verdict, _, drawn = text.partition("\n\n")
    assert " ".join(verdict.split()) == f"{path}: 1 stall of 43.5 ms: 2001:db8::1 writes its requests to " \
        "[2001:db8:1:2:3:4:5:6]:80 in pieces."
    lines = drawn.splitlines()
    assert max(map(len, lines)) <= 80
    assert "160 bytes" in lines[1] and lines[1].split()[0] == "0.000"
    assert "90 bytes held by Nagle's algorithm" in text and "43.5 ms" in text
    assert re.search(r"^ +43\.467 .*acknowledgement, delayed", text, re.MULTILINE)
    assert re.search(r"^ +43\.536 .*90 bytes", text, re.MULTILINE)
    assert dash * 5 in text and (locale != "C" or text.isascii())
    assert "predicted" in text and "250 bytes" in text


def test_a_server_is_named_once(tmp_path):
    """Once it was: 192.0.2.2:80 writes its answers on 192.0.2.2:80 in pieces."""
    text = page_of(tmp_path, recorded(tmp_path, Dialog().stalls(side="s").capture))
    assert ": 192.0.2.2:80 writes its answers in pieces.</p>" in text


def test_no_stall_no_ladder(tmp_path):
    dialog = Dialog()
    for i in range(5):
        dialog.whole(0.1 + i * 0.1)
    path = recorded(tmp_path, dialog.capture)
    said = unstall("explain", "--ladder", path, check=True).stdout
    assert " ".join(said.split()) == \
        f"{path}: No stall in 4 exchanges, the first of each connection not counted: no small segment " \
        "waited for a delayed acknowledgement."
    text = page_of(tmp_path, path)
    assert "No stall" in text and "<svg" not in text


@pytest.mark.parametrize("cured", ["joined", "TCP_NODELAY", "prompt", "none"])
def test_a_log_has_the_message_that_was_not_held(tmp_path, cured):
    log = Log()
    log.connected()
    log.write(0.5, 20)
    log.read(0.6, 0.3)
    for i in range(20):
        log.exchange(100 + i * 100, 40 + i % 8)
    if cured == "TCP_NODELAY":
        log.line(2999, "setsockopt(3, SOL_TCP, TCP_NODELAY, [1], 4) = 0", took=0.01)
    if cured != "none":
        log.exchange(3000, 0.4, sizes=(300,) if cured == "joined" else (200, 100))
    path = tmp_path / "strace.log"
    path.write_text(log.text(), "utf-8")
    text = page_of(tmp_path, path)
    assert re.search("<p>Why likely: of 2[01] messages in two or more small writes 20 waited", text)
    found = parts(pictures(text)[1])
    assert ("Predicted" in text) == (cured == "none")
    if cured != "none":
        count = 1 if cured == "joined" else 2
        assert len(found["data"]) == count
        assert number(found["answer"][0], "data-at-ms") == pytest.approx(0.1 * count, abs=0.45)
        first = next(i for i, line in enumerate(log.lines, 1) if " 12:00:03.000" in line)
        assert f"not held: line{'s' * (count > 1)} {first}" in text
