# SPDX-License-Identifier: MIT
"""The checks of checks.py find a fault that is planted into a sound page, and find none in the sound page."""

import pytest
from browser import Page
from checks import faults

pytestmark = pytest.mark.no_library

SOUND = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>A sound page</title><link rel="icon" href="data:,">
<style>
:root { color-scheme: light dark; --ink: #000; --paper: #fff; --grid: #ccc }
@media screen and (prefers-color-scheme: dark) { :root { --ink: #eee; --paper: #111; --grid: #444 } }
body { color: var(--ink); background: var(--paper); overflow-wrap: anywhere }
svg { fill: var(--ink) }
.wide { overflow-x: auto }
</style></head>
<body><h1>A sound page</h1>
<p>Some words.</p>
<h2>A picture</h2>
<svg role="img" aria-labelledby="t" width="200" height="60"><title id="t">A line</title>
<path d="M 0 30 L 200 30" style="stroke: var(--ink)"/><path d="M 0 40 L 200 40" style="stroke: var(--grid)"/>
<text x="5" y="20">some text</text></svg>
<h2>A table</h2>
<div class="wide" role="region" aria-label="Numbers" tabindex="0">
<table style="width: 900px"><thead><tr><th scope="col">name</th><th scope="col">number</th></tr></thead>
<tbody><tr><th scope="row">one</th><td>1</td></tr></tbody></table></div>
</body></html>
"""

PLANTED = {
    # the fault: (a text of the sound page, its replacement, how each sentence about it begins)
    "an error on the console": (
        "<p>", "<script>console.error('planted')</script><p>", ["console: planted"]),
    "an exception": (
        "<p>", "<script>planted()</script><p>", ["console: ReferenceError: planted"]),
    "an image from elsewhere": (
        "<p>", '<img alt="x" src="http://planted.example/x.png"><p>',
        ["console: Failed", "network: asks for http://planted.example/x.png"]),
    "a style sheet from elsewhere": (
        "<style>", '<link rel="stylesheet" href="http://planted.example/a.css"><style>',
        ["console: Failed", "network: asks for http://planted.example/a.css"]),
    "a file beside the page": (
        "<p>", '<img alt="x" src="planted.png"><p>', ["console: Failed", "network: asks for file:"]),
    "a socket": (
        "<p>", "<script>new WebSocket('ws://planted.example/')</script><p>",
        ["console: ", "network: asks for ws://planted.example/"]),
    "too wide for a telephone": (
        "<p>", '<p style="width: 500px">', ["width: 5"]),
    "too wide for both": (
        "<p>", '<p style="width: 1500px">', ["width: 15", "width: 15"]),
    "a table too wide for a desktop": (
        "width: 900px", "width: 1600px", ["width: the table 'Numbers' scrolls at 1400"]),
    "a word too long": (
        "<p>", f'<p style="overflow-wrap: normal">{"x" * 90} ', ["width: "]),
    "no dark scheme": (
        "prefers-color-scheme: dark", "prefers-color-scheme: none", ["scheme: "]),
    "dark on paper": (
        "@media screen and", "@media", ["print: on paper of rgb(17, 17, 17)"]),
    "text that stays black": (
        "<p>Some words", '<p style="color: #000">words', ["contrast: 1.1 of the word 'words.' (dark)"]),
    "text in a picture that stays black": (
        "<text ", '<text style="fill: #000" ',
        ["contrast: 1.1 of the word 'some' (dark)", "contrast: 1.1 of the word 'text' (dark)"]),
    "text beyond its picture": (
        '<text x="5"', '<text x="-6"', ["cut: 'some text' of a picture"]),
    "pale text": (
        "<p>Some words", '<p style="color: #999">words', ["contrast: 2.8 of the word 'words.' (light)"]),
    "a line that stays black": (
        "stroke: var(--ink)", "stroke: #000", ["contrast: 1.1 of the shapes in rgb(0, 0, 0) (dark)"]),
    "no title": (
        "<title>A sound page</title>", "", ["names: the page has no title"]),
    "no language": (
        ' lang="en"', "", ["names: the page has no language"]),
    "a picture without a name": (
        '<title id="t">A line</title>', "", ["names: an element of the role image"]),
    "an image without a name": (
        "<p>", '<img src="data:image/gif;base64,R0lGODlhAQABAAAAACw="><p>',
        ["names: an element of the role image"]),
    "a link without a name": (
        "<p>", '<a href="#t"></a><p>', ["names: an element of the role link"]),
    "no heading of level 1": (
        "h1>", "h2>", ["headings: 'A sound page' of level 2", "headings: 0 of level 1"]),
    "a level left out": (
        "<h2>A table</h2>", "<h4>A table</h4>", ["headings: 'A table' of level 4 comes after level 2"]),
    "a table without headers": (
        'th scope="col"', "td", ["tables: "]),
    "a column without a header": (
        ">number</th>", "></th>", ["tables: "]),
}


def found_in(browser, folder, text):
    """The faults of a page with this text."""
    path = folder / "page.html"
    path.write_text(text, encoding="utf-8")
    return faults(Page(browser, path))


def test_a_sound_page_has_no_fault(browser, tmp_path):
    assert found_in(browser, tmp_path, SOUND) == []


@pytest.mark.parametrize("fault", PLANTED)
def test_a_planted_fault_is_found_and_nothing_else(browser, tmp_path, fault):
    before, after, expected = PLANTED[fault]
    assert before in SOUND
    found = found_in(browser, tmp_path, SOUND.replace(before, after))
    assert len(found) == len(expected), found
    for sentence, beginning in zip(found, expected):
        assert sentence.startswith(beginning)
