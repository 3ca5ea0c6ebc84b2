# SPDX-License-Identifier: MIT
"""The report on the terminal, in 80 columns at most."""

import math
import shlex
import textwrap

from pages.words import number, p_value
from record import machine
from record.arms import mode_of
from record.late import IN_EXCHANGE_MS
from record.results import place_of

WIDTH = 80


def clean(text):
    """A question mark for each character that is not printable: a terminal may act on it."""
    return "".join(c if c.isprintable() else "?" for c in text)


def fit(text, indent=""):
    """Lines of at most 80 columns."""
    text = clean(text)
    return "\n".join(textwrap.wrap(text, WIDTH, initial_indent=indent,
                                   subsequent_indent=indent or "  ", break_on_hyphens=False,
                                   break_long_words=True)) or indent


def cut(text, length=WIDTH - 2):
    """One line; a longer one loses its end."""
    text = clean(text)
    return text if len(text) <= length else text[:length - 3] + "..."


def commands(results):
    """The commands, as they were given."""
    asked = results.experiment
    lines = []
    if asked.get("server"):
        lines.append("server  " + shlex.join(asked["server"]))
    if asked.get("command"):
        name = "load    " if asked.get("server") else "program "
        lines.append(name + shlex.join(asked["command"]))
    if asked.get("target"):
        lines.append(f"target  {asked['target']}, arms given in the kernel")
        if existed := asked.get("existed"):
            lines.append(f"        connections that were there before and take part: {existed}")
    elif asked.get("pid"):
        lines.append(f"process {asked['pid']}")
    return lines


def heading(results):
    """The size of the experiment, its seed, the commands and the machines."""
    asked = results.experiment
    if results.paired:
        count, word = len(results.rounds()), "round"
    else:
        count, word = results.counted, asked.get("assignment", "connection")
    size = f"{count} {word}{'s' * (count != 1)} {'of' if results.paired else 'in'} {len(results.arms)} arms"
    lines = [fit(f"{size}, base {asked['base']}, seed {asked['seed']}")]
    if results.together > 1:
        lines.append(fit(f"{len(results.units)} units: connections were many, so up to "
                         f"{results.together} that followed one another in one arm are one unit", "  "))
    lines += [cut("  " + line) for line in commands(results)]
    for stratum, facts in list(results.machines.items())[:6]:
        lines.append(fit(machine.in_words(stratum, facts), "  "))
    if len(results.machines) > 6:
        lines.append(f"  and {len(results.machines) - 6} hosts more")
    return lines


def exchange_table(analysis):
    """Exchange times of each arm."""
    if not any(arm.exchanges for arm in analysis.arms.values()):
        return []
    lines = ["", f"{'exchange, ms':<12}{'mean':>10}{'median':>10}{'p90':>10}{'p99':>10}"
             f"{'exchanges':>12}{f'{IN_EXCHANGE_MS} ms and more':>16}"]
    for arm in analysis.arms.values():
        if not arm.exchanges:
            why = "runs without the library" if mode_of(arm.name) == "bare" else "no exchange was measured"
            lines.append(f"{arm.name:<12}not known: {why}")
            continue
        slow = f"{arm.slow} ({100 * arm.slow / arm.exchanges:.0f} %)"
        lines.append(f"{arm.name:<12}" + "".join(
            f"{number(arm.number(name).value):>10}" for name in ("mean", "median", "p90", "p99")) +
            f"{arm.exchanges:>12}{slow:>16}")
    return lines


def _with_interval(value, scale=1.0):
    if value.value is None:
        return "-"
    low, high = value.low * scale, value.high * scale
    return f"{number(value.value * scale)} ({number(low)}-{number(high)})"


def _in_its_unit(arms, key, title):
    """A column in seconds, or in ms where every arm takes less than one second."""
    most = max((arm.number(key).value or 0 for arm in arms), default=0)
    return (key, f"{title}, s", 1e-3) if most >= 1000 else (key, f"{title}, ms", 1)


def cost_table(analysis):
    """Wall and processor time, segments and system calls."""
    arms = analysis.arms.values()
    if not any(arm.numbers for arm in arms):
        return []
    names = [_in_its_unit(arms, "wall", "wall"), _in_its_unit(arms, "cpu", "CPU")]
    if any(arm.number("system_calls").value for arm in arms):
        names[1:] = [("system_calls", "calls/exch.", 1)]
    if any(arm.number("score").value is not None for arm in arms):
        names[-1:] = [("score", "score", 1)]
    shown = [(key, title, scale) for key, title, scale in names
             if any(arm.number(key).value is not None for arm in arms)]
    singles = [("cpu_us", "CPU us/exch."), ("segments", "segm./exch.")]
    shown_singles = [(key, title) for key, title in singles
                     if any(arm.number(key).value is not None for arm in arms)]
    if not shown and not shown_singles:
        return []
    lines = ["", f"{'':<10}" + "".join(f"{title:>22}" for _, title, _ in shown) +
             "".join(f"{title:>13}" for _, title in shown_singles)]
    for arm in arms:
        lines.append(f"{arm.name:<10}" + "".join(
            f" {_with_interval(arm.number(key), scale):>21}" for key, _, scale in shown) +
            "".join(f"{number(arm.number(key).value):>13}" for key, _ in shown_singles))
    return lines


def _exp(x):
    return math.exp(min(x, 700))


def against_table(analysis):
    """Each arm against the base: ratio, interval, p, effect size."""
    if not analysis.against:
        return []
    sure = f"{analysis.confidence * 100:g} % interval"
    kind = "always-valid " if analysis.anytime else ""
    lines = ["", f"{'against ' + analysis.base:<22}{'ratio':>9}  {kind + sure:<28}"
             f"{'p':>8}{'effect':>9}"]
    for comparison in analysis.against:
        c = comparison.contrast
        interval = f"{number(_exp(c.low))} to {number(_exp(c.high))}" \
            if math.isfinite(c.low) and math.isfinite(c.high) else "none yet"
        lines.append(f"{comparison.arm + ', ' + analysis.metric:<22}{number(_exp(c.estimate)):>9}  "
                     f"{interval:<28}{p_value(comparison.adjusted_p):>8}{c.effect:>+9.2f}")
    return lines


def strata_table(analysis):
    """The ratios of each host."""
    if not analysis.strata:
        return []
    lines = ["", "host by host"]
    for stratum, ratios in list(analysis.strata.items())[:12]:
        lines.append(fit(f"{stratum}: " + ", ".join(
            f"{arm} {number(_exp(ratio))}" for arm, ratio in ratios.items()), "  "))
    return lines


ENDINGS = {
    "complete": None,
    "sure": "Ended early: the answer is clear.",
    "interrupted": "Interrupted: the results up to then.",
    "failed": "Cut short: the program has failed.",
    "guard": "The guard has set all connections to mode off.",
}


def _troubles(results):
    for failure in results.failures:
        yield f"{place_of(failure) or 'outside of the runs'}: {failure['what']}"
    for event in results.events:
        yield f"after {event['at_s']:.1f} s: {event['what']}"


def words(results):
    """What the page shows beside the numbers, for the file of results."""
    return {"ending": ENDINGS.get(results.ending), "commands": commands(results),
            "where": [machine.in_words(stratum, facts) for stratum, facts in results.machines.items()],
            "troubles": list(_troubles(results))}


def report(results, analysis, verdict):
    """The whole text."""
    lines = heading(results)
    lines += exchange_table(analysis) + cost_table(analysis) + against_table(analysis)
    lines += strata_table(analysis)
    lines.append("")
    for failure in results.failures[:3]:
        first, *rest = str(failure["what"]).splitlines()
        where = place_of(failure)
        lines.append(fit(f"Failed{where and ' in ' + where}: {first}"))
        lines += [cut(line) for line in rest]
    if len(results.failures) > 3:
        lines.append(f"and {len(results.failures) - 3} failures more")
    for event in results.events[-4:]:
        lines.append(fit(f"After {event['at_s']:.1f} s: {event['what']}."))
    if ENDINGS.get(results.ending):
        lines.append(ENDINGS[results.ending])
    lines += [fit(sentence) for sentence in verdict.sentences]
    if verdict.deploy:
        lines.append(fit(f"To deploy: {verdict.deploy}"))
    return "\n".join(lines) + "\n"
