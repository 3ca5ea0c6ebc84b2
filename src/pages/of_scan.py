# SPDX-License-Identifier: MIT
"""The page of `unstall scan`: who stalls on a host, and where the pieces are written."""

import math

from pages import document, sites
from pages.document import Number
from pages.words import time_of

HEAD = ["sender", "endpoint", "stalls", "a second", "lost", "each", "receiver", "unit or container"]


def process_of(process, user):
    """"nginx (812)", or the user where the process is not to be known."""
    return f"{process['program']} ({process['pid']})" if process else f"a process of user {user}"


def receiver_of(row):
    """Who gets the pieces."""
    if row["receiver"]:
        return process_of(row["receiver"], None)
    return "several, or not to be known" if row["receiver_on_this_host"] else "elsewhere"


def _row(row, exact):
    interval = "" if exact else f" ({math.floor(row['stalls_low'])}–{math.ceil(row['stalls_high'])})"
    process = row["process"] or {}
    return [process_of(row["process"], row["user"]),
            f"{'at' if row['role'] == 'listener' else 'to'} {row['endpoint']}",
            Number(f"{row['stalls']:.0f}{interval}", row["stalls"]),
            Number(f"{row['stalls_per_second']:.1f}", row["stalls_per_second"]),
            Number(time_of(row["lost_ms"] * 1e6), row["lost_ms"]),
            Number(time_of(row["mean_ms"] * 1e6), row["mean_ms"]),
            receiver_of(row), process.get("container") or process.get("unit") or ""]


def _table(name, data, key):
    exact = data["source"] == "exact"
    return document.heaviest(name, HEAD, (_row(row, exact) for row in data[key]))


def page(data):
    """The whole page."""
    title = f"unstall scan: {data['scope']}"
    parts = [document.verdict(data["verdict"]["sentence"]),
             *map(document.paragraph, data["verdict"]["notes"]),
             document.bill(sum(row["stalls"] for row in data["rows"]),
                           sum(row["lost_ms"] for row in data["rows"]) * 1e6, data["seconds"] * 1e9)]
    if data["rows"]:
        parts += [document.heading("What to do"),
                  document.command(data["next"]) if data["next"] else document.paragraph(
                      "Scan again as root, and on the host if this is a container: processes of other users, "
                      "and outside, have no name."),
                  document.heading("Who stalls"), _table("Who stalls", data, "rows")]
    if data["one_way"]:
        parts += [document.heading("Streams of small writes without an answer"),
                  document.paragraph("Nagle's algorithm buffers them on purpose."),
                  _table("Streams", data, "one_way")]
    parts += [sites.section(data["places"]), document.heading("How it was seen"),
              document.paragraph(data["how"])]
    return document.report(title, parts, data, data)
