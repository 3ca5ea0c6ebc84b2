# SPDX-License-Identifier: MIT
"""The page of `unstall report` and `unstall observe`: a process, or all of a folder."""

from pathlib import PurePosixPath

from pages import chart, document, ladder, sites
from pages.document import Number
from pages.words import count, time_of

ENDPOINTS = ["endpoint", "exchanges", "median", "p99", "stalls", "cured", "time lost"]
PROCESSES = ["process", "ran", "exchanges", "stalls", "time lost"]
USED = ("connections", "writes", "reads", "exchanges")


def _time(ns, unknown="-"):
    return Number(unknown, 0) if ns is None else Number(time_of(ns) if ns else "-", ns)


def _number(value):
    return Number("?", 0) if value is None else Number(count(value), value)


def _modes_differ(processes, rows):
    used = {row["mode"] for row in rows if row["arm"] is None and any(row[key] for key in USED)}
    return len(used | {process["mode"] for process in processes}) > 1


def _endpoint(row, with_mode):
    mode = f", mode {row['mode']}" if with_mode or row["arm"] is not None else ""
    way = "at" if row["role"] == "listener" else "to"
    endpoint = "other endpoints" if row["endpoint"] == "other" else row["endpoint"]
    return [f"{way} {endpoint}{mode}", _number(row["exchanges"]), _time(row["median_ns"]),
            _time(row["p99_ns"]), _number(row["stalls"]), _number(row["stalls_cured"]),
            _time(row["lost_ns"], "?")]


def _process(process):
    def total(key):
        return sum(row[key] or 0 for row in process["rows"])
    name = PurePosixPath(process["program"]).name
    return [f"{name} (pid {process['pid']}), {process['mode']}", _time(process["ran_ns"]),
            _number(total("exchanges")), _number(total("stalls")), _time(total("lost_ns"))]


def _lost(row):
    return row["lost_ns"] or 0


def _what_to_do(advice, processes):
    parts = []
    if advice["next"]:
        parts += [document.heading("What to do"), document.command(advice["next"]),
                  document.paragraph(advice["source"])]
    return [*parts, sites.section(processes), document.paragraph(advice["who"])]


def page(data):
    """The whole page."""
    processes = sorted(data.get("processes", [data]), key=lambda process: -sum(map(_lost, process["rows"])))
    rows = [row for row in data["rows"] if any(row[key] for key in USED)]
    rows.sort(key=lambda row: (-_lost(row), -row["exchanges"]))
    modes = _modes_differ(processes, rows)
    parts = [document.verdict(data["verdict"]["sentence"]),
             *map(document.paragraph, data["verdict"]["notes"]),
             document.bill(sum(row["stalls"] or 0 for row in rows), sum(map(_lost, rows)),
                           max(process["ran_ns"] or 0 for process in processes)),
             *_what_to_do(data["advice"], processes)]
    if data["ladders"]:
        parts += [document.heading("A typical exchange"), ladder.beside(data["ladders"])]
    if data["distribution"]:
        parts += [document.heading("How long an exchange takes"),
                  chart.distribution(data["distribution"]["bins"], data["distribution"]["caption"])]
    parts += [document.heading("Endpoints"),
              document.heaviest("Endpoints", ENDPOINTS, (_endpoint(row, modes) for row in rows)),
              document.heading("Processes"),
              document.heaviest("Processes", PROCESSES, map(_process, processes)),
              *map(document.paragraph, data["gaps"])]
    return document.report(data["subject"], parts, data, data)
