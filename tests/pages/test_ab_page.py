# SPDX-License-Identifier: MIT
"""The text of the page of `unstall ab --html`: one file, well-formed, with everything in it that it needs."""

import base64
import json
import re
import subprocess
import xml.etree.ElementTree as xml
from dataclasses import asdict

import pytest
from ab_pages import CASES, json_of, text_of, winner
from trial import ANALYSIS, PYTHON, ab, measured

from inference.analysis import ArmSummary, Estimate, find_held
from pages import plots
from pages.of_ab import LINE, TALLEST, ladder
from pages.style import COLOURS

pytestmark = pytest.mark.no_library
SVG = "{http://www.w3.org/2000/svg}"
XHTML = "{http://www.w3.org/1999/xhtml}"


@pytest.fixture(name="text", params=CASES, scope="module")
def a_page(request):
    return text_of(request.param)


def test_it_is_well_formed_and_its_names_are_unique(text):
    root = xml.fromstring(text.removeprefix("<!DOCTYPE html>\n"))
    assert root.tag == XHTML + "html"
    ids = [node.get("id") for node in root.iter() if node.get("id")]
    assert len(ids) == len(set(ids))
    for reference in re.findall(r'(?:xlink:href="|url\()#([^")]+)', text):
        assert reference in ids


def test_it_needs_nothing_else(text):
    assert not re.findall(r'(?:src|href)="(?!#|data:)[^"]*"', re.sub(r'xlink:href="#[^"]*"', "", text))
    assert "@import" not in text and "<script" not in text


def test_each_picture_has_a_text_in_its_place(text):
    root = xml.fromstring(text.removeprefix("<!DOCTYPE html>\n"))
    pictures_found = list(root.iter(SVG + "svg"))
    assert pictures_found
    for picture in pictures_found:
        assert picture.get("role") == "img"
        title = picture.find(SVG + "title")
        assert title.get("id") == picture.get("aria-labelledby") and len(title.text) > 20


def test_a_stored_json_makes_the_same_page_again(tmp_path):
    """--merge took another seed, and 95 % for what was measured with 90: the page of a stored file was
    another one.  And so does what draws the pages of all verbs, from the JSON alone."""
    stored, first, again = tmp_path / "r.json", tmp_path / "1.html", tmp_path / "2.html"
    done = ab("--arms", "bare,off", "--rounds", 3, "--confidence", 90, "--until-sure", "--quiet", "--json",
              stored, "--html", first, "--", PYTHON, "-S", "-c", "pass")
    assert done.returncode in (0, 2), done.stderr
    ab("--merge", stored, "--html", again, "--json", tmp_path / "again.json")
    assert measured(tmp_path / "again.json") == measured(stored)
    assert again.read_text("utf-8") == first.read_text("utf-8")
    drawn = subprocess.run([PYTHON, "-ISB", ANALYSIS.parent / "pages"], input=stored.read_bytes(), check=True,
                           capture_output=True, timeout=60).stdout
    assert drawn == first.read_bytes()
    ab("--merge", stored, "--confidence", 99, "--json", tmp_path / "surer.json")
    asked = {**measured(stored)["experiment"], "confidence": 0.99}
    assert measured(tmp_path / "surer.json")["experiment"] == asked


def test_its_json_is_in_it():
    page = text_of("a winner")
    coded = re.search(r'download="unstall-ab.json" href="data:application/json;base64,([^"]+)"', page)[1]
    assert json.loads(base64.b64decode(coded)) == json_of(winner())


def test_it_says_the_verdict_the_command_the_machine_and_how_to_deploy():
    text = text_of("a winner")
    body = " ".join(re.sub(r"<svg.*?</svg>", "", text, flags=re.DOTALL).split())
    for part in ("auto wins: ", "unstall run --mode auto -- prog &#x27;a b&#x27;", "program prog",
                 "Linux 6.1", "<td>1</td>"):
        assert part in body
    assert text.count("<svg") == 4 + 2


def test_arms_are_told_apart_without_colours():
    """Each has a line, a marker and a hatch that no other has."""
    for at in (1, 2, 3):
        kinds = [style[at] for style in plots.STYLES]
        assert len(set(kinds)) == len(kinds) == 6


def test_each_colour_follows_the_scheme(text):
    """All are variables, so that none is left out when the style says another."""
    for picture in re.findall(r"<svg.*?</svg>", text, re.DOTALL):
        assert set(re.findall(r"var\(--(\w+)\)", picture)) <= set(COLOURS)
        assert not re.findall(r"#[0-9a-f]{6}\b|rgb\(", picture)


@pytest.mark.parametrize("low, high, ticks", [
    (0.0004, 50, [0.001, 0.01, 0.1, 1, 10]), (0.2, 4, [0.2, 0.5, 1, 2]), (0.85, 1.26, [0.9, 1.0, 1.1, 1.2]),
    (40, 50, [40, 42, 44, 46, 48, 50]),
])
def test_a_logarithmic_axis_has_plain_numbers(low, high, ticks):
    assert plots.log_ticks(low, high) == pytest.approx(ticks)


def test_an_interval_without_bounds_is_told_so():
    assert "no interval yet" in text_of("one round") and "e+30" not in text_of("one round")


def test_an_arm_that_stalls_is_drawn_with_its_held_bytes():
    """From 1 ms to 44 ms: the held bytes take all but one line of it; the arm that proves it says so."""
    slow, proved = ArmSummary("bare", exchanges=9, slow=9), ArmSummary("observe", exchanges=9, stalls=8)
    for arm in (slow, proved):
        arm.numbers = {"median": Estimate(44.0), "segments": Estimate(2.0)}
    fast = ArmSummary("auto", exchanges=9, numbers={"median": Estimate(0.04), "segments": Estimate(1.02)})
    find_held([slow, proved, fast])
    assert [arm.held for arm in (slow, proved, fast)] == ["by its time", "proved", None]
    alone = ArmSummary("bare", exchanges=9, slow=9, numbers={"median": Estimate(44.0)})
    find_held([alone, ArmSummary("off", exchanges=9, numbers={"median": Estimate(43.0)})])
    assert alone.held is None  # the server's own time
    drawn = [ladder(arm.name, asdict(arm), 0, 44.0) for arm in (slow, proved, fast)]
    assert ">held, probably<" in drawn[0] and "another arm is faster by a delayed ack" in drawn[0]
    assert ">held<" in drawn[1] and ">held" not in drawn[2]
    heights = [float(re.search(r'height="([0-9.]+)"', text)[1]) for text in drawn[:2]]
    assert heights == [TALLEST - LINE] * 2
    assert [text.count(">data<") + text.count(">the rest<") for text in drawn] == [2, 2, 1]


def test_an_arm_without_exchanges_has_no_ladder():
    assert "bare: no record of an exchange." in text_of("odd")
    assert "One exchange of each arm" not in text_of("wall time alone")


def test_many_units_are_drawn_as_medians_of_neighbours():
    """40 000 connections made a curve of as many points, in a picture of 440 pixels."""
    arm = {"values": [1.0, 3.0, 2.0] * 6700 + [None]}
    drawn = plots.timeline({"arms": {"off": arm, "auto": arm}, "metric": "mean"}, "unit")
    points = re.findall(r'polyline points="([^"]*)"', drawn)
    assert all(len(curve.split()) <= plots.TIMELINE_MOST for curve in points)
    assert max(len(curve.split()) for curve in points) > 900
    assert "unit, in the order of counting; a point is the median of 21" in drawn
    few = plots.timeline({"arms": {"off": {"values": [1.0, 2.0, 3.0]}}, "metric": "mean"}, "connection")
    assert "median of" not in few
