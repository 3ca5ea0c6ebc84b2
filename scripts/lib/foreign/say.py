# SPDX-License-Identifier: MIT
"""Tables of the results: for the terminal, for a document, for the test runner."""

import platform
import sys
import textwrap
import time
import xml.etree.ElementTree as xml
from collections import Counter


def verdict_of_mode(judged):
    """A mode's cell, from the judgements of one suite in it."""
    counts = Counter(one.verdict for one in judged)
    words = [f"{counts[name]} {name}" for name in ("different", "explained", "flaky") if counts[name]]
    return ", ".join(words if counts["different"] else ["same", *words])


def verdicts(modes, judged):
    """The cells of all modes."""
    return [verdict_of_mode([one for one in judged if one.mode == mode]) for mode in modes]


WIDTH = 110


def table(head, rows):
    """Markdown, in columns; in narrow cells where these would make lines of more than 110 columns."""
    widths = [max(len(line[i]) for line in [head, *rows]) for i in range(len(head))]
    if sum(widths) + 3 * len(widths) + 1 > WIDTH:
        widths = [3] * len(head)
    lines = [head, ["-" * width for width in widths], *rows]
    return "".join("| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths)) + " |\n"
                   for line in lines)


def wrapped(text, first="", further=""):
    """Prose in lines of at most 110 columns."""
    return textwrap.fill(text, WIDTH, initial_indent=first, subsequent_indent=further, break_long_words=False,
                         break_on_hyphens=False) + "\n"


def stand(what):
    """Suite, date and kernel of a run."""
    return wrapped(f"{what}, {time.strftime('%Y-%m-%d', time.gmtime())}, kernel {platform.release()}.")


def fill(path, name, body):
    """`body` between the marks of `name` in a document."""
    text = path.read_text(encoding="utf-8")
    begin, end = f"<!-- {name}:begin -->\n", f"<!-- {name}:end -->"
    head, _, rest = text.partition(begin)
    _, _, foot = rest.partition(end)
    if not rest or not foot:
        sys.exit(f"{path}: no block {name} for the table")
    path.write_text(f"{head}{begin}{body}{end}{foot}", encoding="utf-8")


def block(what, lines, judged):
    """The body of a block: the suite, its table, the judgements."""
    listed = "".join(wrapped(str(one), "- ", "  ") for one in judged) or "None.\n"
    return f"{stand(what)}\n{lines}\nNot as bare at first, and run again:\n\n{listed}"


def write_junit(path, results, modes):
    """One case for each suite and mode; `results` are pairs of a suite's name and its judgements."""
    root = xml.Element("testsuite", name="foreign")
    for name, judged in results:
        for mode in modes:
            case = xml.SubElement(root, "testcase", classname=name, name=mode)
            wrong = [str(one) for one in judged if one.mode == mode and one.verdict == "different"]
            if wrong:
                xml.SubElement(case, "failure", message="not as bare").text = "\n".join(wrong)
    path.parent.mkdir(parents=True, exist_ok=True)
    xml.ElementTree(root).write(path)
