# SPDX-License-Identifier: MIT
"""The page: one HTML file that needs nothing else, well-formed as XML too, so that it can be
checked strictly."""

import html
import math

from record import machine
from report import pictures
from report.text import ENDINGS, commands, number, p_value

STYLE = """
body { font: 16px/1.45 sans-serif; max-width: 56em; margin: 1.5em auto; padding: 0 1em; color: #111; background: #fff }
h1 { font-size: 1.4em } h2 { font-size: 1.1em; margin: 1.8em 0 .4em }
.verdict { border-left: .4em solid #111; padding: .5em 1em; background: #f3f3f3; font-size: 1.1em }
pre, code { font-family: monospace; background: #f3f3f3 } pre { padding: .6em; overflow-x: auto; white-space: pre-wrap }
table { border-collapse: collapse } th, td { padding: .2em .7em; text-align: right; border-bottom: 1px solid #ccc }
th:first-child, td:first-child { text-align: left } figure { margin: 0 } svg { max-width: 100%; height: auto }
"""


def escape(text):
    """For text and attributes; what XML cannot carry becomes a question mark."""
    return html.escape("".join(c if c in "\t\n" or ord(c) >= 32 and not 0xd800 <= ord(c) <= 0xdfff
                               and c not in "\ufffe\uffff\x7f" else "?" for c in str(text)))


def table(head, rows):
    """Rows of texts."""
    lines = ["<table>", "<thead><tr>" + "".join(f"<th scope=\"col\">{escape(h)}</th>" for h in head) +
             "</tr></thead>", "<tbody>"]
    for row in rows:
        first, *rest = row
        lines.append(f"<tr><th scope=\"row\">{escape(first)}</th>" +
                     "".join(f"<td>{escape(cell)}</td>" for cell in rest) + "</tr>")
    return "\n".join([*lines, "</tbody>", "</table>"])


def _with_interval(value, scale=1.0):
    if value.value is None:
        return "not known"
    return f"{number(value.value * scale)} ({number(value.low * scale)} to {number(value.high * scale)})"


def arms_table(analysis):
    """Everything about each arm."""
    columns = [("mean", "mean, ms", 1), ("median", "median, ms", 1), ("p90", "p90, ms", 1),
               ("p99", "p99, ms", 1), ("wall", "wall, s", 1e-3), ("cpu", "CPU, s", 1e-3),
               ("segments", "segments an exchange", 1), ("cpu_us", "CPU us an exchange", 1),
               ("system_calls", "system calls an exchange", 1), ("score", "score", 1)]
    arms = list(analysis.arms.values())
    used = [c for c in columns if any(arm.number(c[0]).value is not None for arm in arms)]
    rows = [[title, *(_with_interval(arm.number(key), scale) for arm in arms)]
            for key, title, scale in used]
    rows.append(["exchanges", *(str(arm.exchanges) if arm.exchanges else "not known" for arm in arms)])
    rows.append(["of 35 ms and more", *(str(arm.slow) if arm.exchanges else "not known" for arm in arms)])
    if any(arm.stalls for arm in arms):
        rows.append(["stalls proved", *("not known" if arm.stalls is None else str(arm.stalls)
                                        for arm in arms)])
    return table(["", *(arm.name for arm in arms)], rows)


def against_table(analysis):
    """Each arm against the base."""
    rows = []
    for one in analysis.against:
        c = one.contrast
        bounds = "none yet" if not (math.isfinite(c.low) and math.isfinite(c.high)) else \
            f"{number(math.exp(c.low))} to {number(math.exp(c.high))}"
        rows.append([one.arm, number(math.exp(min(700, c.estimate))), bounds,
                     _with_interval(one.difference), p_value(one.adjusted_p), f"{c.effect:+.2f}",
                     str(c.units)])
    return table([f"against {analysis.base}", "ratio", f"{analysis.confidence * 100:g} % interval",
                  "difference, ms", "p (Holm)", "effect size", "units"], rows)


def figure(title, picture):
    """One picture with its heading; nothing where there is none."""
    return f"<h2>{escape(title)}</h2>\n<figure>{picture}</figure>" if picture else ""


def page(results, analysis, verdict):
    """The whole page."""
    asked = results.experiment
    sentences = " ".join(verdict.sentences)
    ending = ENDINGS.get(results.ending)
    shown = {key: value for key, value in asked.items() if value is not None and value is not False
             and key not in ("command", "server")}
    parts = [
        "<!DOCTYPE html>",
        '<html xmlns="http://www.w3.org/1999/xhtml" lang="en" xml:lang="en">',
        '<head><meta charset="utf-8"/>',
        "<title>unstall ab: " + escape(verdict.sentences[0] if verdict.sentences else "") + "</title>",
        '<meta name="viewport" content="width=device-width, initial-scale=1"/>',
        '<link rel="icon" href="data:,"/>',
        f"<style>{STYLE}</style></head>", "<body>", "<h1>unstall ab</h1>",
        f'<p class="verdict">{escape(sentences)}</p>',
        f"<p>{escape(ending)}</p>" if ending else "",
        f"<h2>To deploy</h2>\n<pre>{escape(verdict.deploy)}</pre>" if verdict.deploy else "",
        figure("Exchange times", pictures.distribution(analysis)),
        figure("Difference", pictures.differences(analysis)),
        against_table(analysis) if analysis.against else "",
        figure("Cost", pictures.costs(analysis)),
        figure("Round by round" if results.paired else "Connection by connection",
               pictures.timeline(results, analysis)),
        "<h2>Arms</h2>", arms_table(analysis),
        "<p>In brackets the " + f"{analysis.confidence * 100:g} % interval, by bootstrap over " +
        ("rounds" if results.paired else "connections") + ".</p>",
        "<h2>What was run</h2>", f"<pre>{escape(chr(10).join(commands(results)))}</pre>",
        table(["option", "value"], [[key, value if isinstance(value, str) else repr(value)]
                                    for key, value in shown.items()]),
        "<h2>Where</h2>", "<ul>",
        *(f"<li>{escape(machine.in_words(stratum, facts))}</li>"
          for stratum, facts in results.machines.items()),
        "</ul>",
        f"<p>From {escape(results.began)} to {escape(results.ended)}.</p>" if results.began else "",
    ]
    if results.failures or results.events:
        parts += ["<h2>What went wrong</h2>", "<ul>"]
        parts += [f"<li>round {escape(f['round'])}, {escape(f['arm'])}: <code>{escape(f['what'])}</code></li>"
                  for f in results.failures]
        parts += [f"<li>after {e['at_s']:.1f} s: {escape(e['what'])}</li>" for e in results.events]
        parts.append("</ul>")
    return "\n".join(part for part in [*parts, "</body>", "</html>"] if part) + "\n"
