# SPDX-License-Identifier: MIT
"""The page of `unstall explain`: a section for each recording."""

from pages import chart, document, ladder
from pages.document import Number
from pages.words import duration

TITLE = "Stalls by Nagle's algorithm and delayed acknowledgements"
HEAD = ["writes in pieces", "to", "stalls", "messages", "median", "total"]
IN_SOURCE = ("In the source of the writer: send the pieces of a message by one call (a buffer, writev), or "
             "set TCP_CORK around them, or set TCP_NODELAY. This command names the two places in the code:")


def _row(row):
    return [row["writer"] + (" (never answered)" if row["one_way"] else ""),
            "its clients" if row["side"] == "server" else row["service"],
            Number(str(row["stalls"]), row["stalls"]), Number(str(row["messages"]), row["messages"]),
            Number(duration(row["median_ms"]), row["median_ms"]),
            Number(duration(row["total_ms"]), row["total_ms"])]


def _cure(cure):
    return [document.heading("What to do"), document.paragraph(f"To cure, {cure['where']}:"),
            document.command(cure["command"]),
            document.paragraph(f"If you can change only {cure['other_side']}, use one of these there:"),
            *map(document.command, cure["there"]), document.paragraph(cure["places"]),
            document.paragraph(IN_SOURCE), document.command(cure["observe"])]


def _worst(told):
    evidence = told["writers"][0].get("evidence")
    when = told["timeline"]
    return [document.paragraph(evidence and f"Why likely: {evidence}"), *_cure(told["cure"]),
            document.heading("One exchange"), ladder.beside(told["ladders"]),
            document.heading("When, and how long"), '<div class="side">',
            chart.timeline(when["stalled"], when["other"], when["part_ms"], when["whole_ms"],
                           "Exchanges, from the first stall on"),
            chart.distribution(told["bins"], "How long the rest of a message was held back"), "</div>"]


def _section(told):
    parts = [document.heading(told["file"]), document.verdict(told["verdict"]["sentence"]),
             document.bill(told["stalls"], told["total_ms"] * 1e6, told["duration_ms"] * 1e6,
                           "a recording of ")]
    if "cure" in told:
        parts += _worst(told)
    if told["writers"]:
        parts += [document.heading("All that write in pieces"),
                  document.heaviest("All that write in pieces", HEAD, map(_row, told["writers"]))]
    return [*parts, *map(document.paragraph, told["notes"]), document.paragraph(told["error"])]


def page(data):
    """The whole page."""
    parts = [part for told in data for part in _section(told)]
    return document.report(TITLE, parts, data[0], data)
