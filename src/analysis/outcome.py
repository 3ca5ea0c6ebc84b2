# SPDX-License-Identifier: MIT
"""The end of `unstall ab`: analyses results, writes the page, prints the report, finds the exit code."""

import json
import os
import sys

from inference import aa
from inference.analysis import analyse
from inference.verdict import SAME, WINNER, judge
from record.results import whole, write_whole
from report.text import report, words

from pages import of_ab  # report/ has put it on the path

# The exit codes; `unstall ab --help` and unstall(1) list them too.
DONE, OPEN, FAILED, UNWRITTEN, GUARD, NOT_TRUSTED, OWN = 0, 2, 3, 4, 5, 6, 125


def say(text):
    """Print a complaint in the form that all verbs of the command use."""
    print(f"unstall ab: {text}", file=sys.stderr)


def finish(results, options, code, hints, keep):
    """Analyse, write and report; the exit code.  `code` is that of the experiment.  `keep(analysis)`
    writes --json, and returns False if that fails."""
    for hint in hints:
        say(hint)
    if not results.units:
        for failure in results.failures:
            say(failure["what"])
        say("nothing was measured")
        keep()
        return code or (FAILED if results.failures else OPEN)
    analysis = analyse(results)
    verdict = judge(analysis, results)
    if options.aa and not aa.check(results, verdict, options.seed):
        code = NOT_TRUSTED
    told = {**analysis.json(), "verdict": verdict.json(), "words": words(results)}
    written = keep(told)
    if options.html:
        written = _write_page(options.html, whole(results, told)) and written
    written = _print_report(report(results, analysis, verdict)) and written
    if code == DONE and not written:
        return UNWRITTEN
    if code == DONE and verdict.kind not in (WINNER, SAME) and not options.aa:
        return OPEN
    return code


def _write_page(path, text):
    """Draw the text of the file of results.  False, with a complaint, if the page cannot be written."""
    try:
        write_whole(path, of_ab.page(json.loads(text)))
    except OSError as error:
        say(f"--html {path}: {error.strerror}")
        return False
    return True


def _print_report(text):
    """False, with a complaint, if standard output cannot take the report.  A closed pipe is no failure:
    `| head` has read enough."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError as error:
        # Python would write the rest when it ends, and fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            say(f"standard output: {error.strerror}")
            return False
    return True
