# SPDX-License-Identifier: MIT
"""The helper of `unstall ab`: src/cli/ab.c runs this folder with /usr/bin/python3."""

import datetime
import os
import signal
import sys

signal.signal(signal.SIGINT, signal.SIG_DFL)  # until there is something to tidy up

import machine
import processes
from analysis import analyse
from options import Refused, parse
from progress import Progress
from results import BadFile, Results, save, write_whole
from rounds import Rounds
from verdict import SAME, WINNER, judge

# The exit codes; docs/ab.md and unstall(1) have them too.
DONE, OPEN, FAILED, UNWRITTEN, GUARD, NOT_TRUSTED, OWN = 0, 2, 3, 4, 5, 6, 125


def say(text):
    """In the form of the command's other complaints."""
    print(f"unstall ab: {text}", file=sys.stderr)


def now():
    """The time, to the second."""
    return datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")


class Experiment:
    """One run of `unstall ab`: drives, keeps, reports."""

    def __init__(self, options):
        self.options = options
        facts = machine.describe()
        kind = "live" if options.live else "server" if options.server else "command"
        self.results = Results(kind, {
            "arms": options.arms, "base": options.base, "seed": options.seed,
            "metric": options.metric, "confidence": options.confidence, "margin": options.margin,
            "until_sure": options.until_sure, "stop_if": options.stop_if,
            "rounds": options.rounds, "time": options.time, "warmup": options.warmup,
            "command": options.command or None, "server": options.server,
            "ready": options.ready, "pid": options.pid, "score": options.score,
            "assignment": options.assign if options.live else None,
            "weights": options.weights if options.live else None,
            "min_exchanges": options.min_exchanges if options.live else None,
            "aa": options.aa,
        }, {facts["host"]: facts}, began=now())
        self.progress = Progress(options.quiet)
        self.unwritten = False
        self.code = DONE
        self.hints = []

    def keep(self, analysis=None):
        """Write the file of results as it is now; a full disk ends nothing, but is told."""
        if not self.options.json:
            return
        try:
            save(self.options.json, self.results, analysis)
            self.unwritten = False
        except OSError as error:
            if not self.unwritten:
                self.progress.note(f"--json {self.options.json}: {error.strerror}; going on, "
                                   "the report is below")
            self.unwritten = True

    def drive(self):
        """Measure; however it ends, the results are in self.results."""
        processes.take_signals()
        try:
            self._drive()
        except processes.Interrupted as stopped:
            self.results.ending = "interrupted"
            self.code = 128 + stopped.number
        except processes.Failed as failure:
            self.results.ending = "failed"
            self.code = FAILED
            if not self.results.failures:
                self.results.failures.append({"round": None, "arm": None, "what": str(failure)})
        except (BadFile, OSError) as error:
            if not self.results.units:
                raise
            self.results.ending = "failed"
            self.results.failures.append({"round": None, "arm": None, "what": str(error)})
            self.code = OWN
        self.progress.clear()
        self.results.ended = now()

    def _drive(self):
        if self.options.live:
            from live import Live
            driver = Live(self.options, self.results, self.progress, self.keep)
        else:
            driver = Rounds(self.options, self.results, self.progress, self.keep)
        self.hints = driver.hints
        driver.go()
        if self.results.ending == "guard":
            self.code = GUARD
        if self.options.count_calls:
            counted = driver.count_calls()
            for unit in self.results.units:
                unit.system_calls = counted.get(unit.arm)

    def finish(self):
        """Analyse, write, report; the exit code."""
        return finish(self.results, self.options, self.code, self.hints, self.keep, self)


def finish(results, options, code, hints, keep, experiment=None):
    """Analyse, write, report; the exit code."""
    from text import report
    if not results.units:
        for failure in results.failures:
            say(failure["what"])
        say("nothing was measured")
        keep()
        return code or FAILED
    analysis = analyse(results)
    verdict = judge(analysis, results)
    if options.aa:
        from aa import check
        code = check(results, analysis, verdict, options) or code
    keep({**analysis.json(), "verdict": verdict.json()})
    unwritten = bool(experiment and experiment.unwritten)
    if options.html:
        from page import page
        try:
            write_whole(options.html, page(results, analysis, verdict))
        except OSError as error:
            say(f"--html {options.html}: {error.strerror}")
            unwritten = True
    for hint in hints:
        say(hint)
    try:
        sys.stdout.write(report(results, analysis, verdict))
        sys.stdout.flush()
    except OSError as error:
        # Nothing more goes there; else Python would try again at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):  # `| head` has seen enough
            say(f"standard output: {error.strerror}")
            unwritten = True
    if code == DONE and unwritten:
        return UNWRITTEN
    if code == DONE and verdict.kind not in (WINNER, SAME) and not options.aa:
        return OPEN
    return code


def main(words):
    """The exit code."""
    try:
        options = parse(words)
        if options.merge:
            from merge import merge
            return merge(options)
        if options.live and options.kill:
            from live import kill
            return kill(options)
        experiment = Experiment(options)
        experiment.drive()
        return experiment.finish()
    except (Refused, BadFile, OSError) as refused:
        say(refused)
        return OWN
    except processes.CannotRun as cannot:
        say(cannot)
        return cannot.code
    except processes.Interrupted as stopped:
        return 128 + stopped.number


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
