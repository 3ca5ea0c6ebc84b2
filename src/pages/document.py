# SPDX-License-Identifier: MIT
"""A page of HTML: one file that loads nothing else, in light and dark, readable without colours and without
scripts.  Each function returns text that is escaped already; none is the empty text."""

import base64
import html
import json
from dataclasses import dataclass

from pages.style import SCRIPT, STYLE
from pages.words import some, time_of

ROWS_SHOWN = 200
JSON_MOST = 1 << 20  # bytes of JSON in a page


def escape(text):
    """Text for an element or an attribute; a question mark for each character that XML cannot have."""
    return html.escape("".join(c if c in "\t\n" or ord(c) >= 32 and not 0xd800 <= ord(c) <= 0xdfff
                               and c not in "\ufffe\uffff\ufffd" and not 0x7f <= ord(c) < 0xa0 else "?"
                               for c in str(text)))


def heading(text):
    """A heading of a section."""
    return f"<h2>{escape(text)}</h2>"


def paragraph(text):
    """A paragraph; nothing where there is no text."""
    return f"<p>{escape(text)}</p>" if text else ""


def verdict(text):
    """The sentence that the page is for."""
    return f'<p class="verdict">{escape(text)}</p>'


def command(text):
    """A line to copy."""
    return f"<pre><code>{escape(text)}</code></pre>"


def verbatim(text):
    """Text whose line breaks and spaces count."""
    return f"<pre>{escape(text)}</pre>"


@dataclass
class Number:
    """A cell that is sorted by its value."""
    text: str
    value: float


def cell(content):
    """A cell of a table: a text, a Number, or a pair of a number and its interval."""
    if isinstance(content, Number):
        return f'<td data-value="{content.value:.9g}">{escape(content.text)}</td>'
    if isinstance(content, tuple):
        value, interval = map(escape, content)
        return f"<td>{value} <small>{interval}</small></td>"
    return f"<td>{escape(content)}</td>"


def table(name, head, rows, kind="numbers"):
    """A table that scrolls in itself where it is wider than the page, also by keyboard.  A click on a heading
    sorts one of the kind "sorted"."""
    def title(text):
        return f'<button type="button">{escape(text)}</button>' if kind == "sorted" else escape(text)

    def first(content):
        return cell(content) if kind == "sorted" else f'<th scope="row">{escape(content)}</th>'
    return "\n".join([
        f'<div class="wide" role="region" aria-label="{escape(name)}" tabindex="0">',
        f'<table class="{kind}">',
        "<thead><tr>" + "".join(f'<th scope="col">{title(text)}</th>' for text in head) + "</tr></thead>",
        "<tbody>", *(f"<tr>{first(at)}{''.join(map(cell, rest))}</tr>" for at, *rest in rows),
        "</tbody>", "</table>", "</div>"])


def heaviest(name, head, rows):
    """A sorted table of the first rows, and a sentence where there are more."""
    rows = list(rows)
    more = f"These are the heaviest {ROWS_SHOWN}; --json lists all." if len(rows) > ROWS_SHOWN else ""
    return table(name, head, rows[:ROWS_SHOWN], "sorted") + paragraph(more)


def bill(stalls, lost_ns, looked_ns, where=""):
    """The time lost in stalls, and the time that they would cost a day at this rate."""
    if not stalls or not lost_ns or not looked_ns or lost_ns / looked_ns * 86400e9 >= 2 ** 63:
        return ""  # only a damaged file says so much
    day = lost_ns / looked_ns * 86400e9
    return paragraph(
        f"{some(int(stalls), 'stall')} cost {time_of(lost_ns)} in {where}{time_of(looked_ns)}. "
        f"At this rate they cost {time_of(day)} a day" +
        (", added up over connections that stall at the same time." if lost_ns > looked_ns else "."))


def origin(about):
    """When, on which host and kernel, and by which command it was made: a page in a ticket must say so."""
    made = about["made"]
    at = f"{made['at'][:10]} {made['at'][11:19]} {made['at'][19:]}"
    return paragraph(f"{at} on {made['host']}, {made['kernel']}, by unstall {about['unstall']}: "
                     f"{made['command']}")


def numbers(data, name):
    """The JSON that the page was made from, to be saved."""
    whole = json.dumps(data, separators=(",", ":")).encode()
    if len(whole) > JSON_MOST:
        return paragraph("The numbers of this page are too many to be kept in it: the same command with "
                         "--json prints them.")
    return (f'<p><a download="{name}.json" href="data:application/json;base64,'
            f'{base64.b64encode(whole).decode()}">The numbers of this page as JSON</a></p>')


def report(title, parts, about, data):
    """The page of a report: `about` says when it was made and by what, `data` is all of it."""
    return page(title, title, parts, [origin(about), numbers(data, about["format"])])


def page(title, head, parts, foot=(), script=SCRIPT):
    """The whole page: `head` is its title within, `foot` stands below a line."""
    foot = "".join(foot)
    return "\n".join(part for part in (
        "<!DOCTYPE html>",
        '<html xmlns="http://www.w3.org/1999/xhtml" lang="en" xml:lang="en">',
        '<head><meta charset="utf-8"/>', f"<title>{escape(title)}</title>",
        '<meta name="viewport" content="width=device-width, initial-scale=1"/>',
        '<meta name="color-scheme" content="light dark"/>',
        '<link rel="icon" href="data:,"/>',  # else a browser asks the server for one
        f"<style>{STYLE}</style></head>", "<body>", "<main>", f"<h1>{escape(head)}</h1>", *parts,
        f"<footer>{foot}</footer>" if foot else "", "</main>",
        f"<script>{script}</script>" if script else "", "</body>", "</html>", "") if part) + "\n"
