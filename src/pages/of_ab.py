# SPDX-License-Identifier: MIT
"""The page of an experiment, `unstall ab`.  It is well-formed as XML, too, so that tests can parse it."""

from pages import document, plots
from pages.document import escape, heading, paragraph, table, verbatim
from pages.ladder import Hold, Ladder, Party, Step, draw
from pages.plots import value_of
from pages.words import number, p_value

COLUMNS = [("mean", "mean, ms", 1), ("median", "median, ms", 1), ("p90", "p90, ms", 1),
           ("p99", "p99, ms", 1), ("wall", "wall, s", 1e-3), ("cpu", "CPU, s", 1e-3),
           ("segments", "segments an exchange", 1), ("cpu_us", "CPU us an exchange", 1),
           ("system_calls", "system calls an exchange", 1), ("score", "score", 1)]


# ---- tables ----------------------------------------------------------------------------------------------

def _with_interval(estimate, scale=1.0):
    if not estimate or estimate["value"] is None:
        return "not known"
    return (number(estimate["value"] * scale),
            f"{number(estimate['low'] * scale)} to {number(estimate['high'] * scale)}")


def _arms_table(analysis):
    """All numbers of each arm."""
    arms = analysis["arms"].values()
    rows = [[title, *(_with_interval(arm["numbers"].get(key), scale) for arm in arms)]
            for key, title, scale in COLUMNS if any(value_of(arm, key) is not None for arm in arms)]
    rows.append(["exchanges", *(arm["exchanges"] or "not known" for arm in arms)])
    rows.append([f"exchanges of {analysis['slow_ms']} ms and more",
                 *(arm["slow"] if arm["exchanges"] else "not known" for arm in arms)])
    if any(arm["stalls"] for arm in arms):
        rows.append(["stalls proved",
                     *("not known" if arm["stalls"] is None else arm["stalls"] for arm in arms)])
    return table("Numbers of each arm", ["arm", *analysis["arms"]], rows)


def _against_table(analysis):
    """Each arm against the base."""
    rows = []
    for pair in analysis["against"]:
        c = pair["contrast"]
        low, high = plots.ratio_of(c["low"]), plots.ratio_of(c["high"])
        bounds = "none yet" if low is None or high is None else f"{number(low)} to {number(high)}"
        rows.append([pair["arm"], number(plots.ratio_of(c["estimate"])), bounds,
                     _with_interval(pair["difference"]), p_value(pair["adjusted_p"]),
                     "-" if c["effect"] is None else f"{c['effect']:+.2f}", c["units"]])
    return table(f"Each arm against {analysis['base']}",
                 [f"against {analysis['base']}", "ratio", f"{analysis['confidence'] * 100:g} % interval",
                  "difference, ms", "p (Holm)", "effect size", "units"], rows) if rows else ""


def _options_table(asked):
    """The options of the experiment that have a value."""
    rows = [[name, ", ".join(value) if isinstance(value, list) else value]
            for name, value in asked.items()
            if value is not None and value is not False and name not in ("command", "server")]
    return table("Options", ["option", "value"], rows, kind="words")


# ---- one exchange of each arm ----------------------------------------------------------------------------

LADDER, LEFT, RIGHT, TOP, LINE, TALLEST = 300, 78, 288, 44, 26, 150
SEGMENTS_MOST = 4
HELD = {None: "", "proved": "; the rest is held, as most exchanges prove",
        "by its time": "; the rest is probably held: another arm is faster by a delayed acknowledgement"}


def _time(ms):
    """In the unit that keeps it short: its label has 68 pixels."""
    return f"{ms / 1e3:.3g} s" if ms >= 999.5 else f"{ms:.3g} ms" if ms >= 0.1 else f"{ms * 1e3:.3g} µs"


def _median(arm):
    """None: there is no record of an exchange."""
    return value_of(arm, "median") if arm["exchanges"] else None


def _steps(arm, px_per_ms):
    """The arrows; those of the rest stand just above the answer."""
    median, segments = _median(arm), value_of(arm, "segments")
    count = max(1, min(SEGMENTS_MOST, round(segments or 1)) if segments else 2 if arm["held"] else 1)
    at_once = 1 if arm["held"] else count
    steps = [Step("data", 0, "data", 0, 1, "" if n else "0 ms") for n in range(at_once)]
    steps += [Step("data", max(0, median - LINE * (count - n) / px_per_ms), "the rest", 0, 1)
              for n in range(at_once, count)]
    return [*steps, Step("answer", median, "answer", 1, 0, _time(median))]


def ladder(name, arm, at, longest_ms):
    """A figure with the ladder of an arm; its times have the scale of the longest arm."""
    if _median(arm) is None:
        return f"<figure><figcaption>{escape(name)}: no record of an exchange.</figcaption></figure>"
    steps = _steps(arm, TALLEST / longest_ms)
    count = len(steps) - 1
    segments = "segments not counted" if value_of(arm, "segments") is None else \
        f"about {count} segment{'s' * (count > 1)}"
    caption = escape(f"{name}: {segments}, the answer after {_time(_median(arm))}{HELD[arm['held']]}.")
    holds = [Hold(0, max(1, len(steps) - 2), "held" if arm["held"] == "proved" else "held, probably",
                  colour="arm4")] if arm["held"] else []
    one = Ladder([Party("program", LEFT), Party("peer", RIGHT, RIGHT - 12)], steps, holds, LADDER, TOP, LINE,
                 TALLEST / longest_ms)
    drawn = draw(one, f' xmlns="{plots.SVG}" aria-labelledby="ladder-{at}-title"',
                 f'<title id="ladder-{at}-title">{caption}</title>')
    return f"<figure>{drawn}<figcaption>{caption}</figcaption></figure>"


def _ladders(arms):
    """The ladders of all arms, side by side; nothing where no arm has a record."""
    longest = max((_median(arm) or 0 for arm in arms.values()), default=0)
    if not longest:
        return ""
    figures = (ladder(name, arm, at, longest) for at, (name, arm) in enumerate(arms.items()))
    return "\n".join([heading("One exchange of each arm"),
                      paragraph("Drawn from the medians of the arm. The times have one scale, but two arrows "
                                "have at least a line between them."),
                      '<div class="side small">', *figures, "</div>"])


# ---- the page --------------------------------------------------------------------------------------------

def _figure(title, picture):
    """A picture with its heading; nothing where there is none."""
    return f"{heading(title)}\n<figure>{picture}</figure>" if picture else ""


def _list(items):
    return "\n".join(["<ul>", *(f"<li>{escape(item)}</li>" for item in items), "</ul>"])


def page(data):
    """The whole page."""
    analysis, asked = data["analysis"], data["experiment"]
    verdict, words, paired = analysis["verdict"], analysis["words"], data["kind"] != "live"
    what = "round" if paired else \
        "unit" if any("together" in unit for unit in data["units"]) else "connection"
    parts = [
        document.verdict(" ".join(verdict["sentences"])), paragraph(words["ending"]),
        heading("To deploy") + verbatim(verdict["deploy"]) if verdict.get("deploy") else "",
        _ladders(analysis["arms"]),
        _figure("Exchange times", plots.distribution(analysis["arms"])),
        _figure("Difference", plots.differences(analysis)), _against_table(analysis),
        _figure("Cost", plots.costs(analysis["arms"])),
        _figure(f"{what.capitalize()} by {what}", plots.timeline(analysis, what)),
        heading("Arms"), _arms_table(analysis),
        paragraph(f"Below a number: its {analysis['confidence'] * 100:g} % interval, by bootstrap over "
                  f"{'rounds' if paired else 'connections'}."),
        heading("What was run"), verbatim("\n".join(words["commands"])), _options_table(asked),
        heading("Where"), _list(words["where"]),
        paragraph(f"From {data['began']} to {data['ended']}." if data["began"] else ""),
        heading("What went wrong") + _list(words["troubles"]) if words["troubles"] else ""]
    first = verdict["sentences"][0] if verdict["sentences"] else ""
    return document.page(f"unstall ab: {first}", "unstall ab", parts,
                         [document.numbers(data, data["format"])], script="")
