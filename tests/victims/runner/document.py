# SPDX-License-Identifier: MIT
"""docs/gallery.md, written from a run: rows that were not measured this time stay as they are."""

import datetime
import re

from harness import CURING_MODES, SOURCE_ROOT

from .victims import load, victims
from .wells import MODES, load_well, wells

_HOME = SOURCE_ROOT / "docs" / "gallery.md"
_HEAD = """\
# The gallery

Real programs with the write-write-read stall, unmodified, bare and under every mode, and beside them what two simple
preloads would have done: `socket-nodelay` sets TCP_NODELAY on every stream socket that `socket()` makes,
`cork-nodelay` corks the sockets whose program asks for TCP_NODELAY, as libautocork (2007) did.

Written by `scripts/gallery --all --update-docs`; what the programs need is installed by `scripts/setup --gallery --all`.
The tests (`meson test --suite victims`) judge all but those marked heavy: the stall is gone (under 5 ms at the
median) in nodelay, cork, coalesce and auto, and stays (over 30 ms) bare, in off and in observe.
"""
_CELLS = """
## Times

Median milliseconds of an exchange over loopback, and data segments of the sick side in it.  An exchange is a request
and its answer; with SMTP a mail, with LPD a file, with pipelining two requests.  For `git-ls-remote` and `msmtp` it is
a whole run of the program; for `jvm-cork` and `jruby-puma` the median latency under wrk (one thread, ten
connections) and the requests a second.  `cork-nodelay` cures none of them: who stalls never asked for TCP_NODELAY.

`verdict` is what `unstall report` says of the run in observe: stalls that it proves, of the exchanges at the endpoint
that loses most; `unseen` where writes pass unseen (stdio), so that it says just that, and claims nothing.
"""
_STORIES = """
## Where the stories come from

| name | sick | story |
|---|---|---|
"""
_WELL = """
## Programs that are well

Nothing may change in them: the calls on connections and the new processes and threads of each process, under strace,
bare and treated, are the same, but for the queries of inherited descriptors that promise 6 of
[the design](design.md) names.  Of ssh the session is judged: in its handshake, its version and then its keys, it
has the pattern, and is cured.  `verdict` is what `unstall report` says of a run in observe, without strace: of
ssh it tells the one stall of that handshake, of the others none.

"""
_DATE = "\nThe rows were measured on the days that they name, on Linux with two shared cores.\n"


_COMPARED = """\
Compared besides, by the best of five rounds in turns for requests a second (own cure: the JDK's property
`sun.net.httpserver.nodelay`; Puma's TCP_CORK around a response, which goes through Ruby's FFI here and costs more than
a JRuby that makes the call would need, so that what Puma with TCP_NODELAY gives is better read off the column nodelay),
and for geventhttpclient the story's own client, ten requests over a new connection, round by round with the same client
sending head and body at once, on one core:

"""


def _cell(measurement):
    if measurement is None:
        return "failed"
    text = f"{measurement.median:.2f}"
    if measurement.segments is not None:
        text += f" · {measurement.segments:.1f}"
    if measurement.rates:
        text += f" · {measurement.rates['treated']:.0f}/s"
    return text


def _verdict(done):
    """The cell; None, as before, where observe was not measured."""
    if "observe" not in done:
        return None
    return done["observe"].observed.short() if done["observe"] else "failed"


def _old_rows():
    """name -> column -> cell of the document as it is."""
    rows, head = {}, []
    if _HOME.exists():
        for line in _HOME.read_text("utf-8").splitlines():
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            if line.startswith("| program |"):
                head = cells
            elif line.startswith("| `"):
                rows[cells[0].strip("`")] = dict(zip(head, cells))
    return rows


def _table(head, names, fresh, old):
    """Markdown lines; `fresh` is name -> list of cells behind the name (None: as before)."""
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    for name in names:
        cells = fresh.get(name, [None] * (len(head) - 1))
        before = old.get(name, {})
        row = [f"`{name}`"] + [before.get(column, "?") if new is None else new
                               for column, new in zip(head[1:], cells)]
        lines.append(f"| {' | '.join(row)} |")
    return "\n".join(lines) + "\n"


def _notes(results):
    """What the victims were compared with besides."""
    lines = []
    for name, columns in results.items():
        for column, measurement in columns.items():
            if measurement and column in CURING_MODES and (measurement.once or "bare" in measurement.rates):
                lines.append(f"- `{name}`, {column}: {_note(measurement)}")
    return lines


def _note(measurement):
    if once := measurement.once:
        low, middle, high = once.quartiles
        return (f"{middle:.3f} times the client that sends once, bare (quartiles {low:.2f} and {high:.2f} of {once.rounds} "
                f"rounds; medians {once.ours_ms:.2f} and {once.theirs_ms:.2f} ms)")
    treated, others = measurement.rates["treated"], {**measurement.rates}
    del others["treated"]
    return f"{treated:.0f} requests a second, " + ", ".join(
        f"{treated / rate:.{1 if name == 'bare' else 2}f} times {name} ({rate:.0f})" for name, rate in others.items())


def _old_notes(fresh, names):
    if not _HOME.exists():
        return []
    return [line for line in _HOME.read_text("utf-8").splitlines()
            if (found := re.match(r"- `([\w-]+)`, (\w+):", line)) and found.groups() not in fresh
            and found.group(1) in names]


def update(columns, results, unchanged):
    """Write the document; `results`: name -> column -> Measurement (None where it failed), `unchanged`: name -> mode ->
    verdict.  The cells of rows and columns that are not among them stay."""
    old, today = _old_rows(), datetime.date.today().isoformat()
    names = victims(heavy=True)
    times = {name: [*(_cell(done[column]) if column in done else None for column in columns),
                    _verdict(done), today]
             for name, done in results.items()}
    verdicts = {name: [*(found.get(mode) for mode in MODES), found["verdict"], found["facts"], today]
                for name, found in unchanged.items()}
    fresh = _notes(results)
    keys = {re.match(r"- `([\w-]+)`, (\w+):", line).groups() for line in fresh}
    stories = [f"| {name}{' (heavy)' if load(name).heavy else ''} | {load(name).sick} | {load(name).story} |"
               for name in names]
    stories += [f"| {name}{' (heavy)' if load_well(name).heavy else ''} | well | {load_well(name).story} |"
                for name in wells(heavy=True)]
    _HOME.write_text(
        _HEAD + _CELLS + "\n" + _table(["program", *columns, "verdict", "day"], names, times, old) +
        "\n" + _COMPARED + "\n".join(sorted(_old_notes(keys, names) + fresh)) + "\n" + _DATE +
        _WELL + _table(["program", *MODES, "verdict", "beside", "day"], wells(heavy=True), verdicts, old) +
        _STORIES + "\n".join(stories) + "\n", "utf-8")
