# SPDX-License-Identifier: MIT
"""Pages of `unstall ab --html`, of made-up results: each looks different."""

import functools
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "experiments"))

from trial import ab, made_up  # noqa: E402  (it puts src/analysis on the path)

from inference.analysis import analyse  # noqa: E402
from inference.verdict import judge  # noqa: E402
from record import results  # noqa: E402
from record.histogram import Histogram  # noqa: E402
from report.text import words  # noqa: E402  (it puts src on the path)

from pages import of_ab  # noqa: E402

LONG = "/a-path-without-a-space" * 12


def winner():
    """An arm wins by far."""
    return made_up(20, 0.001)


def six_arms():
    """All modes, and no winner."""
    return made_up(7, arms=("off", "observe", "nodelay", "cork", "coalesce", "auto"))


def live():
    """A live experiment."""
    made = made_up(15, 0.01)
    made.kind = "live"
    made.experiment["assignment"] = "connection"
    for unit in made.units:
        unit.block = unit.wall_s = unit.user_s = unit.system_s = None
    return made


def odd():
    """All that could break a page: characters, long words, an arm without exchanges, failures, two rounds."""
    made = made_up(2, arms=("off", "bare", "auto"))
    made.experiment["command"] = ["<script>alert(1)</script>", "a&b\"'", "\x00\x1b\ud800\uffff", "é", LONG]
    made.experiment["score"] = LONG
    made.failures.append({"round": 1, "arm": "auto", "what": f"]]> & <b> \x07 {LONG}"})
    made.events.append({"at_s": 1.0, "what": "<i>"})
    for unit in made.units:
        if unit.arm == "bare":
            unit.exchanges = unit.exchange_ns = unit.messages = None
            unit.histogram = Histogram()
    return made


def wall_time():
    """No exchanges in any arm."""
    made = made_up(8)
    for unit in made.units:
        unit.exchanges = unit.exchange_ns = unit.segments = unit.messages = None
        unit.histogram = Histogram()
    return made


def one_round():
    """A single round."""
    return made_up(1)


CASES = {"a winner": winner, "six arms": six_arms, "live": live, "odd": odd, "wall time alone": wall_time,
         "one round": one_round}


def json_of(made):
    """The JSON of an experiment, as --json has it."""
    found = analyse(made)
    told = {**found.json(), "verdict": judge(found, made).json(), "words": words(made)}
    return json.loads(results.whole(made, told))


@functools.cache
def text_of(case):
    """The text of a page."""
    return of_ab.page(json_of(CASES[case]()))


def rendered(case):
    """A maker of one page, for test_pages.py."""
    def make(folder):
        path = folder / "page.html"
        path.write_text(text_of(case), encoding="utf-8")
        return path
    return make


def by_the_command(folder):
    """The page that the command itself writes."""
    results.save(folder / "results.json", winner())
    done = ab("--merge", folder / "results.json", "--html", folder / "page.html")
    assert done.returncode == 0, done.stderr
    return folder / "page.html"
