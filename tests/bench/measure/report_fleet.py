# SPDX-License-Identifier: MIT
"""Tables for a fleet: pipelines, tails beside other work, statistics, short programs."""

from . import pipelined
from .tables import digits, paragraph, ratio, table


def pipelined_table(rows):
    reference = next(iter(rows.values()))
    lines = [[name, f"{pipelined.DEPTH * 1e9 / row['ns']['median']:.0f}", ratio(row["ratio"]),
              digits(row["segments"]["median"]), digits(row["p99 ns"]["median"] / 1e6),
              pipelined.verdict(name, row, reference)] for name, row in rows.items()]
    return table(["configuration", "requests/s", "time (ratio)", "segments a batch",
                  "p99 ms", "target"], lines)


def tails_table(rows):
    return table(["configuration", "p50 µs", "p99 µs", "p99.9 µs", "p99, ratio", "p99.9, ratio"], [
        [name, f"{row['ns']['median'] / 1e3:.1f}", f"{row['p99 ns']['median'] / 1e3:.0f}",
         f"{row['p99.9 ns']['median'] / 1e3:.0f}", ratio(row["p99 ns ratio"]), ratio(row["p99.9 ns ratio"])]
        for name, row in rows.items()])


def statistics_table(results):
    return table(["mode", "µs without", "again, ratio", "with, ratio (target 1.005)"], [
        [name, f"{rows['without']['ns']['median'] / 1e3:.2f}", ratio(rows["again"]["ratio"]),
         ratio(rows["with"]["ratio"])] for name, rows in results.items()])


def short_lived_table(programs):
    return table(["program, configuration", "ms", "ratio (target 1.02)"], [
        [f"{program}: {name}", f"{row['ns']['median'] / 1e6:.2f}", ratio(row["ratio"])]
        for program, rows in programs.items() for name, row in rows.items()])


def sections(results):
    """(section, title, text) of each measurement."""
    for name, rows in results.get("pipelined", {}).items():
        yield "pipelined", f"16 requests under way: {name}", pipelined_table(rows)
    if results.get("tails"):
        yield "tails", "The slowest exchanges, beside stress-ng", paragraph(
            "200 B + 100 B, read 200 B, while stress-ng computes on both cores. Ratios to one send in the "
            "same round.") + "\n\n" + tails_table(results["tails"])
    if "statistics" in results:
        yield "statistics", "What UNSTALL_STATS adds to an exchange", statistics_table(results["statistics"])
    if results.get("short-lived"):
        yield "start", "Programs that live for three exchanges", paragraph(
            "Wall time from start to end: one connection, three exchanges.") + "\n\n" + short_lived_table(
                results["short-lived"])
