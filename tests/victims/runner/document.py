# SPDX-License-Identifier: MIT
"""docs/results/gallery.md, written from a run.  Rows that this run did not measure stay as they are.

No line of the page is longer than 110 columns: the times stand in two tables, longer texts in wrapped lists.
"""

import datetime
import re
import textwrap

from harness import CURING_MODES, SOURCE_ROOT

from .victims import load, victims
from .wells import MODES, load_well, wells

_HOME = SOURCE_ROOT / "docs/results/gallery.md"
_WIDTH = 110
_UNCURED = ("bare", "off", "observe")
_TEXT = {
    "head": """\
<!-- scripts/gallery --update-docs has made this file. -->

# The gallery

This page has the times of real, unmodified programs with the write-write-read stall, or with a crossing (one
small write behind an earlier message that is not acknowledged yet): bare (without a preload), in every mode,
and with two simple preloads. The preload `socket-nodelay` sets TCP_NODELAY on every
stream socket that `socket()` makes. The preload `cork-nodelay` corks the sockets whose program asks for
TCP_NODELAY, as libautocork (2007) did.

`scripts/gallery --all` measures all of it; `scripts/setup --gallery --all` installs the programs.
The tests (`meson test --suite victims`) judge all programs except those marked heavy. The stall must be gone
(under 5 ms at the median) in nodelay, cork, coalesce and auto. It must stay (over 30 ms) bare, in off and in
observe. Each row was measured on the day that it names, on Linux with two shared cores.
[Is mine affected?](../affected.md) names the software and its own cures.

## Times

Each cell has the median milliseconds of an exchange over loopback, and the data segments that the stalling
side sends in it. An exchange is a request and its answer. With SMTP it is a mail, with LPD a file, with
pipelining two requests and their answers, and with QoS 1 two messages and their confirmations. Two kinds of
rows differ:

- `git-ls-remote` and `msmtp`: a whole run of the program.
- `jvm-cork` and `jruby-puma`: the median latency and the requests a second under wrk, with one thread and ten
  connections.

`verdict` is what `unstall report` says of the run in observe, at the endpoint that loses most: the proved
stalls and the number of exchanges. `unseen` means that the library does not see the writes (stdio); the
report then claims no stall.

Without a cure:
""",
    "cured": """
With a cure. `cork-nodelay` cures none of them, because a program that stalls never asked for TCP_NODELAY:
""",
    "rates": """
## Requests a second

Each rate is the best of five rounds, in which the compared runs take turns. The rate that it is compared with
stands in parentheses. The own cure of `jvm-cork` is the JDK's property `sun.net.httpserver.nodelay`. The own
cure of `jruby-puma` is Puma's TCP_CORK around a response. Here it calls setsockopt through Ruby's FFI, which
costs more than a call that JRuby makes itself. So the row nodelay shows better how fast Puma with TCP_NODELAY
is.
""",
    "once": """
## Ten requests over a new connection

The client sends ten requests over a new connection, with the library. Each round compares its time with that
of the same client without the library, which sends head and body by one send. Both run on the same core.
""",
    "well": """
## Well-behaved programs

The library may change nothing in these programs. The test runs each under strace, bare and in the modes of
the table, and compares the calls on connections and the new processes and threads. They must be the same,
except for the queries of inherited descriptors that promise 6 of [the design](../design.md) names. Of ssh
only the session is compared, because its handshake (the version, then the keys) has the pattern and is cured.
`verdict` is what `unstall report` says of a run in observe, without strace: one stall in the handshake of
ssh, none in the others.
""",
    "stories": """
## Where the stories come from

The word in parentheses is the side that stalls. `scripts/gallery` measures heavy programs with `--all` only.
""",
}


def _cell(measurement):
    if measurement is None:
        return "failed"
    text = f"{measurement.median:.2f}"
    if measurement.segments is not None:
        text += f" · {measurement.segments:.1f}"
    if measurement.rates:
        rate = measurement.rates["treated"]
        text += f", {rate / 1000:.0f}k/s" if rate >= 10000 else f", {rate:.0f}/s"
    return text


def _verdict(done):
    """The cell; None, as before, where observe was not measured."""
    if "observe" not in done:
        return None
    return done["observe"].observed.short() if done["observe"] else "failed"


def _cells(line):
    return [cell.strip() for cell in line.strip("|").split("|")]


def old_rows(text):
    """Text of a row's first cell -> column -> cell, of all tables."""
    rows, head, lines = {}, [], text.splitlines()
    for line, following in zip(lines, lines[1:] + [""]):
        if following.startswith("|---"):
            head = _cells(line)
        elif line.startswith("| `"):
            cells = _cells(line)
            rows.setdefault(cells[0], {}).update(zip(head[1:], cells[1:]))
    return rows


def _old_facts(text):
    """Name of a well-behaved program -> the text of its item below their table."""
    found = re.findall(r"^- `([\w-]+)`: (.*(?:\n  .*)*)", text, re.MULTILINE)
    return {name: " ".join(fact.split()) for name, fact in found}


def _items(pairs):
    """A wrapped list of (head, text)."""
    return "".join(textwrap.fill(f"{head}: {text}", _WIDTH, initial_indent="- ", subsequent_indent="  ",
                                 break_on_hyphens=False, break_long_words=False) + "\n"
                   for head, text in pairs)


def _table(head, names, fresh, old):
    """Markdown lines; `fresh` is first cell -> column -> cell (None: as before)."""
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    for name in names:
        new, before = fresh.get(name, {}), old.get(name, {})
        row = [before.get(column, "?") if new.get(column) is None else new[column] for column in head[1:]]
        lines.append(f"| {' | '.join([name, *row])} |")
    return "\n" + "\n".join(lines) + "\n"


_RATES = ["program, mode", "requests a second", "times bare", "times own cure"]
_ONCE = ["program, mode", "times one send", "quartiles", "rounds", "median ms", "one send, median ms"]


def _compared(measurement):
    """The cells of one program and mode in the table of rates or in that of ten requests."""
    if once := measurement.once:
        low, middle, high = once.quartiles
        return dict(zip(_ONCE[1:], (f"{middle:.3f}", f"{low:.2f} to {high:.2f}", f"{once.rounds}",
                                    f"{once.ours_ms:.2f}", f"{once.theirs_ms:.2f}")))
    rates = measurement.rates
    cells = {"requests a second": f"{rates['treated']:.0f}",
             "times bare": f"{rates['treated'] / rates['bare']:.1f} ({rates['bare']:.0f})"}
    if own := rates.get("own cure"):
        cells["times own cure"] = f"{rates['treated'] / own:.2f} ({own:.0f})"
    return cells


def _comparisons(results):
    """First cell -> cells, of the programs and modes that this run compared with something."""
    return {f"`{name}`, {column}": _compared(measurement)
            for name, columns in results.items() for column, measurement in columns.items()
            if measurement and column in CURING_MODES and (measurement.once or "bare" in measurement.rates)}


def _comparison(head, fresh, old, names):
    """One of the two tables of comparisons, with its old rows of programs that are still there."""
    rows = {**old, **fresh}
    found = sorted(row for row, cells in rows.items() if head[1] in cells and row.split("`")[1] in names)
    return _table(head, found, fresh, old)


def _story(name, one, side):
    return f"**{name}** ({side}{', heavy' if one.heavy else ''})", one.story


def _page(columns, results, unchanged, before):
    """The whole text."""
    old, facts, today = old_rows(before), _old_facts(before), datetime.date.today().isoformat()
    names, well = victims(heavy=True), wells(heavy=True)
    times = {f"`{name}`": {**{column: _cell(done[column]) for column in columns if column in done},
                           "verdict": _verdict(done), "day": today} for name, done in results.items()}
    same = {f"`{name}`": {**{mode: found.get(mode) for mode in MODES}, "verdict": found["verdict"],
                          "day": today}
            for name, found in unchanged.items()}
    facts.update((name, found["facts"]) for name, found in unchanged.items())
    programs = [f"`{name}`" for name in names]
    compared = _comparisons(results)
    stories = [_story(name, load(name), load(name).sick) for name in names]
    stories += [_story(name, load_well(name), "well-behaved") for name in well]
    return (_TEXT["head"] +
            _table(["program", *(column for column in columns if column in _UNCURED), "verdict", "day"],
                   programs, times, old) +
            _TEXT["cured"] +
            _table(["program", *(column for column in columns if column not in _UNCURED)], programs, times,
                   old) +
            _TEXT["rates"] + _comparison(_RATES, compared, old, names) +
            _TEXT["once"] + _comparison(_ONCE, compared, old, names) +
            _TEXT["well"] +
            _table(["program", *MODES, "verdict", "day"], [f"`{name}`" for name in well], same, old) + "\n" +
            _items((f"`{name}`", facts[name]) for name in well if facts.get(name)) +
            _TEXT["stories"] + "\n" + _items(stories))


def update(columns, results, unchanged):
    """Write the document; the cells of other rows and columns stay.

    `results`: name -> column -> Measurement (None where it failed); `unchanged`: name -> mode -> verdict.
    """
    before = _HOME.read_text("utf-8") if _HOME.exists() else ""
    _HOME.write_text(_page(columns, results, unchanged, before), "utf-8")
