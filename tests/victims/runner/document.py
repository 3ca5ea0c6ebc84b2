# SPDX-License-Identifier: MIT
"""docs/gallery.md, written from a run.  Rows that this run did not measure stay as they are.

No line of the page is longer than 110 columns: the times stand in two tables, longer texts in wrapped lists.
"""

import datetime
import re
import textwrap

from harness import CURING_MODES, SOURCE_ROOT

from .victims import load, victims
from .wells import MODES, load_well, wells

_HOME = SOURCE_ROOT / "docs" / "gallery.md"
_WIDTH = 110
_UNCURED = ("bare", "off", "observe")
_TEXT = {
    "head": """\
# The gallery

Real, unmodified programs with the write-write-read stall: bare, in every mode, and with two simple preloads.
`socket-nodelay` sets TCP_NODELAY on every stream socket that `socket()` makes. `cork-nodelay` corks the
sockets whose program asks for TCP_NODELAY, as libautocork (2007) did.

`scripts/gallery --all --update-docs` writes this page; `scripts/setup --gallery --all` installs the programs.
The tests (`meson test --suite victims`) judge all programs except those marked heavy. The stall must be gone
(under 5 ms at the median) in nodelay, cork, coalesce and auto. It must stay (over 30 ms) bare, in off and in
observe. Each row was measured on the day that it names, on Linux with two shared cores.
[Is mine affected?](affected.md) names the software and its own cures.

## Times

Each cell has the median milliseconds of an exchange over loopback, and the data segments that the stalling
side sends in it. An exchange is a request and its answer. With SMTP it is a mail, with LPD a file, with
pipelining two requests. Two kinds of rows differ:

- `git-ls-remote` and `msmtp`: a whole run of the program.
- `jvm-cork` and `jruby-puma`: the median latency and the requests a second under wrk, with one thread and ten
  connections.

`verdict` is the answer of `unstall report` to the run in observe: the proved stalls, of the exchanges at the
endpoint that loses most. `unseen` means that the writes pass unseen (stdio): the report then claims no stall.

Without a cure:
""",
    "cured": """
With a cure. `cork-nodelay` cures none of them, because a program that stalls never asked for TCP_NODELAY:
""",
    "rates": """
## Requests a second

The best of five rounds in turns. The rate of the other side stands in parentheses. The own cure of `jvm-cork`
is the JDK's property `sun.net.httpserver.nodelay`. The own cure of `jruby-puma` is Puma's TCP_CORK around a
response. It goes through Ruby's FFI here and costs more than a JRuby that makes the call itself, so its
column nodelay shows better how fast Puma with TCP_NODELAY is.
""",
    "once": """
## Ten requests over a new connection

The client of the story sends ten requests over a new connection, under the library. Round by round it is
compared with the same client that sends head and body at once, bare, on the same core.
""",
    "well": """
## Well-behaved programs

The library may change nothing in them. strace compares the calls on connections and the new processes and
threads of each process, bare and treated. They must be the same, except for the queries of inherited
descriptors that promise 6 of [the design](design.md) names. Of ssh only the session is compared: its
handshake (the version, then the keys) has the pattern and is cured. `verdict` is the answer of
`unstall report` to a run in observe, without strace: one stall in the handshake of ssh, none in the
others.
""",
    "stories": """
## Where the stories come from

In parentheses: the side that stalls. Heavy programs are measured with `--all` only.
""",
}


def _cell(measurement):
    if measurement is None:
        return "failed"
    text = f"{measurement.median:.2f}"
    if measurement.segments is not None:
        text += f" · {measurement.segments:.1f}"
    if measurement.rates:
        text += f", {measurement.rates['treated']:.0f}/s"
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
