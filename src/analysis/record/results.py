# SPDX-License-Identifier: MIT
"""The results of an experiment, in memory and as a JSON file (schema: docs/ab.md).

After each round the file is written under another name and then renamed.  So the last complete file stays,
also when the disk is full.
"""

import errno
import json
import os
from dataclasses import dataclass, field

from record.histogram import Histogram
from record.late import IN_EXCHANGE_MS

FORMAT, VERSION = "unstall-ab", 1
USUAL = {"confidence": 0.95, "margin": 0.1}  # of an experiment, where nothing else was asked for

# An exchange can also be as slow for another reason: the control arm shows that.  A bucket begins within 3 %
# of this time.
SLOW_NS = IN_EXCHANGE_MS * 1_000_000


class BadFile(Exception):
    """A file cannot be used; the message names it and says why."""


@dataclass(slots=True)
class Unit:
    """One run of one arm in one round; in a live experiment, one connection (or peer, or listener)."""
    arm: str
    stratum: str            # the host
    block: object = None    # the round; None in a live experiment
    wall_s: float = None
    user_s: float = None
    system_s: float = None
    exchanges: int = None   # None: not known (arm bare)
    exchange_ns: int = None
    histogram: Histogram = field(default_factory=Histogram)
    segments: int = None    # of data, sent by connections that have ended
    messages: int = None    # segments and system calls are given for one message
    connections: int = None
    stalls: int = None      # proved by the library
    system_calls: int = None
    score: float = None     # --score: a number in the program's own output
    name: str = None        # live: the connection (the first one), peer or listener
    together: int = None    # live: so many neighbours in time of one arm are this unit; None: one is

    def json(self):
        """The form in the file; unknown values are left out."""
        made = {key: value for key in self.__dataclass_fields__
                if (value := getattr(self, key)) is not None and key != "histogram"}
        if self.histogram.buckets:
            made["histogram"] = self.histogram.json()
        return made

    @classmethod
    def of_json(cls, value):
        """From the file."""
        known = {name: value[name] for name in cls.__dataclass_fields__
                 if name in value and name != "histogram"}
        return cls(**known, histogram=Histogram.of_json(value.get("histogram")))

    def knows(self, metric):
        """True where value() is not None."""
        return bool(self.histogram.buckets) if metric in QUANTILES else self.value(metric) is not None

    def value(self, metric):
        """The value of a metric, None where it is not known.  Times are in ms."""
        if metric == "mean":
            return self.exchange_ns / self.exchanges / 1e6 if self.exchanges else None
        if metric in QUANTILES:
            found = self.histogram.quantile(QUANTILES[metric])
            return None if found is None else found / 1e6
        if metric == "wall":
            return None if self.wall_s is None else self.wall_s * 1e3
        if metric == "cpu":
            return None if self.user_s is None else (self.user_s + self.system_s) * 1e3
        return self.score


QUANTILES = {"median": 0.5, "p90": 0.9, "p99": 0.99}
METRICS = {
    "mean": "an exchange takes, in the mean,",
    "median": "the median exchange takes",
    "p90": "nine of ten exchanges take at most",
    "p99": "99 of 100 exchanges take at most",
    "wall": "a run takes",
    "cpu": "a run costs, of the processor,",
    "score": "the score is",
}


@dataclass
class Results:
    """One experiment: the question, the machines, all units."""
    kind: str
    experiment: dict                              # the options: arms, base, command, seed, ...
    machines: dict = field(default_factory=dict)  # stratum -> facts of machine.py
    units: list = field(default_factory=list)
    failures: list = field(default_factory=list)  # {"round", "arm", "what"}
    totals: list = field(default_factory=list)    # live: units of whole arms, from statistics files
    events: list = field(default_factory=list)    # {"at_s", "what"}: the guard has acted
    began: str = None
    ended: str = None
    ending: str = "running"

    @property
    def arms(self):
        """The arms, in the order of --arms."""
        return self.experiment["arms"]

    @property
    def paired(self):
        """True where units are paired by round; not in a live experiment."""
        return self.kind != "live"

    @property
    def together(self):
        """Live: the most connections that are one unit."""
        return max((unit.together or 1 for unit in self.units), default=1)

    @property
    def counted(self):
        """Live: how many connections (or peers, or listeners) the units are."""
        return sum(unit.connections if unit.together else 1 for unit in self.units)

    def of_arm(self, arm):
        """The units of an arm."""
        return [unit for unit in self.units if unit.arm == arm]

    def rounds(self):
        """(stratum, block) -> {arm: unit} of the rounds in which every arm was measured."""
        found = {}
        for unit in self.units:
            found.setdefault((unit.stratum, unit.block), {})[unit.arm] = unit
        return {key: by_arm for key, by_arm in found.items()
                if all(arm in by_arm for arm in self.arms)}

    def json(self):
        """The whole file without the analysis."""
        return {
            "format": FORMAT, "version": VERSION, "kind": self.kind, "ending": self.ending,
            "began": self.began, "ended": self.ended, "experiment": self.experiment,
            "machines": self.machines, "failures": self.failures, "events": self.events,
            "units": [unit.json() for unit in self.units],
            "totals": [unit.json() for unit in self.totals],
        }

    @classmethod
    def of_json(cls, value, path="results"):
        """From the file; BadFile says why it cannot be read."""
        if not isinstance(value, dict) or value.get("format") != FORMAT:
            raise BadFile(f"{path}: not a file of results; expected a file that --json FILE has written")
        if value.get("version") != VERSION:
            raise BadFile(f"{path}: version {value.get('version')}; this command reads {VERSION}")
        try:
            return cls(value["kind"], value["experiment"], value["machines"],
                       [Unit.of_json(unit) for unit in value["units"]], value["failures"],
                       [Unit.of_json(unit) for unit in value["totals"]], value["events"],
                       value["began"], value["ended"], value["ending"])
        except (KeyError, TypeError, ValueError) as error:
            raise BadFile(f"{path}: {type(error).__name__} {error}; was it cut short?") from error


def place_of(failure):
    """Where a run has failed, as in 'round 3, off'; empty for a failure outside of the runs."""
    if not failure["arm"]:
        return ""
    when = "the warm-up" if failure["round"] is None else f"round {failure['round']}"
    return f"{when}, {failure['arm']}"


def load(path):
    """A file of results."""
    try:
        with open(path, encoding="utf-8") as file:
            return Results.of_json(json.load(file), path)
    except OSError as error:
        raise BadFile(f"{path}: {error.strerror}") from error
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise BadFile(f"{path}: not a file of results ({error}); expected a file that --json FILE has "
                      "written") from error


def write_whole(path, text):
    """Replace a file in one step, so that it is never there in part; OSError if that fails.  A pipe or
    a device (/dev/stdout) is written to directly."""
    if os.path.exists(path) and not os.path.isfile(path):
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return
    target = os.path.realpath(path)
    draft = f"{target}.{os.getpid()}.part"
    try:
        with open(draft, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.rename(draft, target)
    except BaseException:
        try:
            os.unlink(draft)
        except OSError:
            pass
        raise


def try_whole(path):
    """As write_whole(), but nothing is written; OSError if it would fail."""
    if os.path.isdir(path):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if os.path.exists(path) and not os.path.isfile(path):
        return  # a pipe may have no reader yet
    draft = f"{os.path.realpath(path)}.{os.getpid()}.part"
    with open(draft, "w", encoding="utf-8"):
        os.unlink(draft)


def whole(results, analysis=None):
    """The text of the file of results."""
    return json.dumps({**results.json(), "analysis": analysis}, allow_nan=False) + "\n"


def save(path, results, analysis=None):
    """Write the file of results; OSError if that fails."""
    write_whole(path, whole(results, analysis))
