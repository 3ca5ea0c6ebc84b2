# SPDX-License-Identifier: MIT
"""The page of an experiment.  It is well-formed as XML, too, so that tests can parse it."""

import math

from pages import document
from pages.document import escape, heading, paragraph, table, verbatim
from record import machine
from record.late import IN_EXCHANGE_MS
from record.results import place_of
from report import pictures
from report.ladders import ladders
from report.text import ENDINGS, commands, number, p_value


def _with_interval(estimate, scale=1.0):
    if estimate.value is None:
        return "not known"
    return (number(estimate.value * scale),
            f"{number(estimate.low * scale)} to {number(estimate.high * scale)}")


COLUMNS = [("mean", "mean, ms", 1), ("median", "median, ms", 1), ("p90", "p90, ms", 1),
           ("p99", "p99, ms", 1), ("wall", "wall, s", 1e-3), ("cpu", "CPU, s", 1e-3),
           ("segments", "segments an exchange", 1), ("cpu_us", "CPU us an exchange", 1),
           ("system_calls", "system calls an exchange", 1), ("score", "score", 1)]


def arms_table(analysis):
    """All numbers of each arm."""
    arms = list(analysis.arms.values())
    used = [column for column in COLUMNS if any(arm.number(column[0]).value is not None for arm in arms)]
    rows = [[title, *(_with_interval(arm.number(key), scale) for arm in arms)]
            for key, title, scale in used]
    rows.append(["exchanges", *(arm.exchanges or "not known" for arm in arms)])
    rows.append([f"exchanges of {IN_EXCHANGE_MS} ms and more",
                 *(arm.slow if arm.exchanges else "not known" for arm in arms)])
    if any(arm.stalls for arm in arms):
        rows.append(["stalls proved", *("not known" if arm.stalls is None else arm.stalls for arm in arms)])
    return table("Numbers of each arm", ["arm", *(arm.name for arm in arms)], rows)


def against_table(analysis):
    """Each arm against the base."""
    rows = []
    for pair in analysis.against:
        c = pair.contrast
        bounds = "none yet" if not (math.isfinite(c.low) and math.isfinite(c.high)) else \
            f"{number(math.exp(c.low))} to {number(math.exp(c.high))}"
        rows.append([pair.arm, number(math.exp(min(700, c.estimate))), bounds,
                     _with_interval(pair.difference), p_value(pair.adjusted_p), f"{c.effect:+.2f}",
                     c.units])
    return table(f"Each arm against {analysis.base}",
                 [f"against {analysis.base}", "ratio", f"{analysis.confidence * 100:g} % interval",
                  "difference, ms", "p (Holm)", "effect size", "units"], rows)


def options_table(asked):
    """The options of the experiment that have a value."""
    rows = [[name, ", ".join(value) if isinstance(value, list) else value]
            for name, value in asked.items()
            if value is not None and value is not False and name not in ("command", "server")]
    return table("Options", ["option", "value"], rows, kind="words")


def figure(title, picture):
    """A picture with its heading; nothing where there is none."""
    return f"{heading(title)}\n<figure>{picture}</figure>" if picture else ""


def troubles(results):
    """Failures of runs, and the acts of the guard."""
    if not results.failures and not results.events:
        return ""
    lines = ["<h2>What went wrong</h2>", "<ul>"]
    lines += [f"<li>{escape(place_of(f) or 'outside of the runs')}: <code>{escape(f['what'])}</code></li>"
              for f in results.failures]
    lines += [f"<li>after {e['at_s']:.1f} s: {escape(e['what'])}</li>" for e in results.events]
    return "\n".join([*lines, "</ul>"])


def page(results, analysis, verdict):
    """The whole page."""
    ending = ENDINGS.get(results.ending)
    first = verdict.sentences[0] if verdict.sentences else ""
    parts = [
        document.verdict(" ".join(verdict.sentences)), paragraph(ending),
        heading("To deploy") + verbatim(verdict.deploy) if verdict.deploy else "",
        ladders(analysis),
        figure("Exchange times", pictures.distribution(analysis)),
        figure("Difference", pictures.differences(analysis)),
        against_table(analysis) if analysis.against else "",
        figure("Cost", pictures.costs(analysis)),
        figure("Round by round" if results.paired else "Connection by connection",
               pictures.timeline(results, analysis)),
        heading("Arms"), arms_table(analysis),
        paragraph(f"Below a number: its {analysis.confidence * 100:g} % interval, by bootstrap over "
                  f"{'rounds' if results.paired else 'connections'}."),
        heading("What was run"), verbatim("\n".join(commands(results))), options_table(results.experiment),
        heading("Where"), "<ul>",
        *(f"<li>{escape(machine.in_words(stratum, facts))}</li>"
          for stratum, facts in results.machines.items()),
        "</ul>", paragraph(f"From {results.began} to {results.ended}." if results.began else ""),
        troubles(results)]
    return document.page(f"unstall ab: {first}", "unstall ab", parts, script="")
