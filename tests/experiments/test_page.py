# SPDX-License-Identifier: MIT
"""The page: one file, well-formed, nothing from the network, readable without colours and without eyes."""

import re
import xml.etree.ElementTree as xml

import pytest
from trial import ab, made_up

from inference.analysis import analyse
from inference.verdict import judge
from record import results
from record.histogram import Histogram
from report import page, pictures

pytestmark = pytest.mark.no_library
SVG = "{http://www.w3.org/2000/svg}"
XHTML = "{http://www.w3.org/1999/xhtml}"


def rendered(made):
    """The text of the page."""
    found = analyse(made)
    return page.page(made, found, judge(found, made))


def live():
    """A live experiment, made up."""
    made = made_up(15, 0.01)
    made.kind = "live"
    made.experiment["assignment"] = "connection"
    for unit in made.units:
        unit.block = unit.wall_s = unit.user_s = unit.system_s = None
    return made


def odd():
    """Everything that could break a page: characters, no exchanges, failures, a tiny number of rounds."""
    made = made_up(2, arms=("off", "bare", "auto"))
    made.experiment["command"] = ["<script>alert(1)</script>", "a&b\"'", "\x00\x1b\ud800\uffff", "é"]
    made.failures.append({"round": 1, "arm": "auto", "what": "]]> & <b> \x07"})
    made.events.append({"at_s": 1.0, "what": "<i>"})
    for unit in made.units:
        if unit.arm == "bare":
            unit.exchanges = unit.exchange_ns = unit.messages = None
            unit.histogram = Histogram()
    return made


def unmeasured():
    """Wall time alone."""
    made = made_up(8)
    for unit in made.units:
        unit.exchanges = unit.exchange_ns = unit.segments = unit.messages = None
        unit.histogram = Histogram()
    return made


CASES = {"a winner": made_up(20, 0.001), "six arms": made_up(7, arms=("off", "observe", "nodelay", "cork", "coalesce",
                                                                      "auto")),
         "live": live(), "odd": odd(), "wall time alone": unmeasured(), "one round": made_up(1)}


@pytest.fixture(name="text", params=CASES, scope="module")
def a_page(request):
    return rendered(CASES[request.param])


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


def test_it_says_the_verdict_the_command_the_machine_and_how_to_deploy():
    text = rendered(made_up(20, 0.001))
    body = " ".join(re.sub(r"<svg.*?</svg>", "", text, flags=re.DOTALL).split())
    for part in ("auto wins: ", "unstall run --mode auto -- prog &#x27;a b&#x27;", "program prog", "Linux 6.1",
                 "<td>1</td>"):
        assert part in body
    assert text.count("<svg") == 4


def test_arms_are_told_apart_without_colours():
    """Each has a line, a marker and a hatch that no other has."""
    for at in (1, 2, 3):
        kinds = [str(style[at]) for style in pictures.STYLES]
        assert len(set(kinds)) == len(kinds) == 6


def test_it_is_written_where_asked(tmp_path):
    made = made_up(8, 0.5)
    results.save(tmp_path / "r.json", made)
    done = ab("--merge", tmp_path / "r.json", "--html", tmp_path / "p.html")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "p.html").read_text().startswith("<!DOCTYPE html>")
