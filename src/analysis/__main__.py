# SPDX-License-Identifier: MIT
"""The analysis behind `unstall ab`: src/cli/verbs/ab.c runs this folder with /usr/bin/python3.

The folders are layers, and imports go downward only: this folder, report/, experiment/, inference/, record/.
tests/house/test_analysis_layers.py checks that.
"""

import datetime
import signal
import sys

signal.signal(signal.SIGINT, signal.SIG_DFL)  # until catch_signals(): the imports take half a second

try:
    import numpy  # noqa: F401  (all of inference/ needs it)
except ImportError as missing:
    print(f"unstall ab: {missing}; install python3-numpy", file=sys.stderr)
    sys.exit(125)

from experiment import processes
from experiment.in_kernel import has_library
from experiment.live import Live, kill
from experiment.merge import merge
from experiment.rounds import Rounds
from options import Refused, complete_arms, parse
from outcome import DONE, FAILED, GUARD, OWN, finish, say
from record import machine
from record.results import BadFile, Results, save
from report.progress import Progress, StandardError


def now():
    """The time, to the second."""
    return datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")


class Experiment:
    """One run of `unstall ab`: measures, keeps the results, reports."""

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
            "ready": options.ready, "pid": options.pid,
            "target": " ".join(options.target) if options.target else None, "score": options.score,
            "assignment": options.assign if options.live else None,
            "weights": options.weights if options.live else None,
            "min_exchanges": options.min_exchanges if options.live else None,
            "aa": options.aa,
        }, {facts["host"]: facts}, began=now())
        self.progress = Progress(options.quiet)
        self.written = True
        self.code = DONE
        self.hints = []

    def keep(self, analysis=None):
        """Write the file of results as it is now; False if that fails.  The experiment goes on, since
        the disk may have room again; only the first failure in a row is printed."""
        if not self.options.json:
            return True
        try:
            save(self.options.json, self.results, analysis)
            self.written = True
        except OSError as error:
            if self.written:
                self.progress.note(f"--json {self.options.json}: {error.strerror}; the experiment goes on, "
                                   "and prints its report")
            self.written = False
        return self.written

    def measure(self):
        """Run the experiment; self.results has all measurements, also after a failure."""
        processes.catch_signals()
        try:
            self._measure()
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

    def _measure(self):
        driver = (Live if self.options.live else Rounds)(self.options, self.results, self.progress, self.keep)
        self.hints = driver.hints
        driver.go()
        if self.results.ending == "guard":
            self.code = GUARD
        if self.options.count_calls:
            counted = driver.count_calls()
            for unit in self.results.units:
                unit.system_calls = counted.get(unit.arm)


def run_experiment(options):
    """Measure and report; the exit code."""
    started = options.server or options.command
    if started:
        options.library = processes.preload_entry(options.unstall, options.library, started[0])
        if not options.library:
            return OWN
    experiment = Experiment(options)
    experiment.measure()
    return finish(experiment.results, options, experiment.code, experiment.hints, experiment.keep)


def run_merge(options):
    """Merge the files and report; the exit code."""
    whole = merge(options)

    def keep(analysis=None):
        if options.json:
            try:
                save(options.json, whole, analysis)
            except OSError as error:
                raise BadFile(f"--json {options.json}: {error.strerror}") from error
        return True
    return finish(whole, options, DONE, [], keep)


def main(words):
    """The exit code."""
    try:
        options = parse(words)
        if options.merge:
            return run_merge(options)
        if options.live and options.kill:
            kill(options)
            return DONE
        if options.pid is not None:
            if not has_library(options.pid):
                options.target = [str(options.pid)]
            complete_arms(options)
        return run_experiment(options)
    except (Refused, BadFile, OSError) as refused:
        say(refused)
        return OWN
    except processes.CannotRun as cannot:
        say(cannot)
        return cannot.code
    except processes.Interrupted as stopped:
        return 128 + stopped.number


if __name__ == "__main__":
    sys.stderr = StandardError(sys.stderr)
    ended = main(sys.argv[1:])
    processes.ignore_signals()
    sys.exit(ended)
