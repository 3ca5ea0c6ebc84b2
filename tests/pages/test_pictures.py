# SPDX-License-Identifier: MIT
"""The pictures of docs/how-it-works.md agree with the page's words, by their own numbers; they are small, and
readable on a light and on a dark page, also aloud."""

import contextlib
import io
import os
import re
import subprocess
import xml.etree.ElementTree as ET

import numpy
import pytest
from browser import Page
from checks import SCHEMES, console, network, readable
from PIL import Image

from harness import SOURCE_ROOT, patiently, skip, wait_for

pytestmark = pytest.mark.no_library

PICTURES = SOURCE_ROOT / "docs" / "pictures"
PAGE = (SOURCE_ROOT / "docs" / "how-it-works.md").read_text("utf-8")
README = (SOURCE_ROOT / "README.md").read_text("utf-8")
LADDERS = sorted(set(re.findall(r"\]\(pictures/([\w-]+)\.svg\)", PAGE)))
SVG = "{http://www.w3.org/2000/svg}"
MOST_BYTES = 6000
STALL_MS, MOST_MS, CURED_MS = 29, 60, 20  # a delayed acknowledgement; busy machines need some of the last


class Ladder:
    """The numbers of a picture."""

    def __init__(self, path):
        self.root = ET.parse(path).getroot()
        self.took = float(self.root.get("data-took-ms"))
        groups = list(self.root.iter(f"{SVG}g"))
        self.steps = [(group.get("data-kind"), int(group.get("data-bytes", 0)),
                       float(group.get("data-at-ms"))) for group in groups if group.get("data-at-ms")]
        self.held = [(float(group.get("data-held-ms")), int(group.get("data-bytes")),
                      " ".join(group.itertext())) for group in groups if group.get("data-held-ms")]

    def of(self, kind):
        """The sizes of all steps of a kind."""
        return [size for step, size, _ in self.steps if step == kind]

    def at(self, kind):
        """The times of all steps of a kind."""
        return [at for step, _, at in self.steps if step == kind]


def shows_nagle(one):
    assert one.of("send") == [20] * 5 and one.of("data") == [20, 80]
    (held, size, by), = one.held
    assert size == 80 and "Nagle" in by and 9 < held < 29


def shows_an_acknowledgement_that_rides(one):
    assert one.of("data") == [100] and one.of("answer") == [50] and not one.of("ack")
    assert one.took < CURED_MS


def shows_an_acknowledgement_alone(one):
    assert STALL_MS < one.at("ack")[0] < MOST_MS and one.took >= 100
    assert "delayed acknowledgement" in " ".join(one.root.itertext())


def shows_the_stall(one):
    assert one.of("send") == one.of("data") == [109, 99]
    (held, size, by), = one.held
    assert size == 99 and "Nagle" in by and STALL_MS < held < MOST_MS
    first, rest = one.at("data")
    assert first < STALL_MS < rest and one.at("ack")[0] <= rest


def shows_the_option(one):
    kinds = [kind for kind, _, _ in one.steps if kind in ("send", "option")]
    assert kinds == ["send", "option", "send"] and one.of("data") == [109, 99]
    assert not one.held and one.took < CURED_MS


def shows_a_push(one):
    assert one.of("send") == [109, 99] and one.of("option") and one.of("data") == [208]
    (held, size, by), = one.held
    assert size == 208 and "unstall" in by and held < CURED_MS > one.took


def shows_one_call(one):
    assert one.of("send") == one.of("data") == [208] and not one.held and one.took < CURED_MS


def shows_a_hold(one):
    assert one.of("send") == [109, 99] and not one.of("option") and one.of("data") == [208]
    (held, size, by), = one.held
    assert size == 109 and "unstall" in by and held < CURED_MS > one.took


SHOWS = {
    "nagle": shows_nagle,
    "ack-rides": shows_an_acknowledgement_that_rides,
    "ack-alone": shows_an_acknowledgement_alone,
    "stall": shows_the_stall,
    "nodelay": shows_the_option,
    "cork": shows_a_push,
    "coalesce": shows_one_call,
    "auto": shows_a_hold,
}


def test_the_page_has_each_picture():
    assert LADDERS == sorted(SHOWS)


@pytest.mark.parametrize("name", SHOWS)
def test_a_picture_shows_what_the_page_says(name):
    SHOWS[name](Ladder(PICTURES / f"{name}.svg"))


@pytest.mark.parametrize("name", [name for name in SHOWS if name != "stall"])
def test_no_other_picture_passes_for_the_stall(name):
    with pytest.raises((AssertionError, ValueError)):
        shows_the_stall(Ladder(PICTURES / f"{name}.svg"))


@pytest.mark.parametrize("name", SHOWS)
def test_a_picture_is_small_and_can_be_read_aloud(name):
    path = PICTURES / f"{name}.svg"
    assert path.stat().st_size < MOST_BYTES
    root = ET.parse(path).getroot()
    assert root.find(f"{SVG}title").text
    told = root.find(f"{SVG}desc").text
    assert all(f"{size} bytes" in told for size in Ladder(path).of("data"))
    assert f"{Ladder(path).took:.2f} ms: answer" in told


# Between them the first two have all colours of the ladders.
@pytest.mark.parametrize("name", ["stall", "cork", "../benchmarks"])
def test_a_picture_is_readable_in_light_and_dark(browser, name):
    page = Page(browser, PICTURES / f"{name}.svg")
    found = [*console(page), *network(page)]
    for scheme in SCHEMES:
        page.show(700, scheme)
        pixels = numpy.asarray(Image.open(io.BytesIO(page.screenshot())))
        found += [f"{fault} ({scheme})" for fault in readable(page, pixels)]
    assert found == []


@pytest.fixture(name="recording")
def the_recording(browser):
    """The recording as a reader sees it without motion, or just after opening it."""
    def opened(motion):
        browser.call("Emulation.setEmulatedMedia",
                     features=[{"name": "prefers-reduced-motion", "value": motion}])
        return Page(browser, PICTURES / "demo.svg")
    return opened


OPACITY = "[...document.querySelectorAll('text')].map(text => getComputedStyle(text).opacity)"


def test_the_recording_tells_the_story():
    """A program is slow, unstall says why and what to type, and so it is fast."""
    root = ET.parse(PICTURES / "demo.svg").getroot()
    shown = ["".join(text.itertext()) for text in root.iter(f"{SVG}text")]
    typed = [line for line in shown if line.startswith("$ ")]
    client = re.fullmatch(r"\$ time (\./client\.py \d+ 100) >/dev/null", typed[0])[1]
    assert typed[1:] == [f"$ {how} -- {client} >/dev/null" for how in ("unstall observe", "time unstall run")]
    slow, fast = (float(line.split()[1]) for line in shown if line.startswith("took "))
    assert slow > 100 * STALL_MS / 1000 and slow > 4 * fast
    told = " ".join(line.strip() for line in shown)
    assert re.search(r"loses 4\d(\.\d)? ms in 9\d of 100 exchanges", told)
    assert re.search(rf"Next: unstall run (--mode auto )?-- {re.escape(client)}", told)
    assert "](docs/pictures/demo.svg)" in README
    assert (PICTURES / "demo.svg").stat().st_size < 20000


def test_the_recording_plays_where_motion_is_wanted_and_is_whole_where_it_is_not(recording):
    assert "0" in recording("no-preference").evaluate(OPACITY)
    page = recording("reduce")
    assert set(page.evaluate(OPACITY)) == {"1"}
    assert [*console(page), *network(page)] == []


def test_the_recording_ends_with_all_lines(recording):
    page = recording("no-preference")
    wait_for(lambda: set(page.evaluate(OPACITY)) == {"1"})


def shows_the_screens(folder):
    shown = ["".join(text.itertext()).split() for text in ET.parse(folder / "top.svg").getroot().iter(
        f"{SVG}text")]
    (bare,), (cured,) = ([row for row in shown if mode in row] for mode in ("observe", "auto"))
    assert "ms" in bare and "µs" in cured
    assert (folder / "explain.png").stat().st_size < 50000
    with Image.open(folder / "explain.png") as page:
        assert page.size == (860, 1115) and len(page.getcolors()) > 8  # no empty page


def test_the_tutorial_has_pictures_of_a_screen_and_a_page():
    tutorial = (SOURCE_ROOT / "docs" / "tutorial.md").read_text("utf-8")
    assert "](pictures/top.svg)" in tutorial and "](pictures/explain.png)" in tutorial
    shows_the_screens(PICTURES)


def test_the_script_makes_them_anew(tmp_path):
    """The pictures can be made by anyone, and show the same again.  The recording is made by hand, on a quiet
    machine."""
    if os.geteuid() != 0:
        skip("tcpdump needs root")

    def make(*words):
        done = subprocess.run([SOURCE_ROOT / "scripts/pictures", *words, "--to", tmp_path], check=False,
                              timeout=120, text=True, stdin=subprocess.DEVNULL, capture_output=True)
        assert done.returncode == 0, done.stderr

    missing = dict(SHOWS)

    def ladders():
        make()
        for name, shows in SHOWS.items():
            with contextlib.suppress(AssertionError):  # a picture of one exchange, on a busy machine
                shows(Ladder(tmp_path / f"{name}.svg"))
                missing.pop(name, None)
        assert not missing

    def screens():
        make("--screens")
        shows_the_screens(tmp_path)

    patiently(ladders)
    patiently(screens, 3)
