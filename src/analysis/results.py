# SPDX-License-Identifier: MIT
"""What an experiment has measured, in memory and as a JSON file (schema: docs/ab.md).

The file is written anew after each round, into a name of its own beside the last one, and then
renamed: whatever happens, a full disk included, the last complete one stays.
"""

import json
import os
from dataclasses import asdict, dataclass, field

from histogram import Histogram

FORMAT, VERSION = "unstall-ab", 1

KINDS = ("command", "server", "live")

# An answer that took this long is one that a delayed acknowledgement (40 ms at least) held up,
# or that was slow of itself: the control arm tells which.  A bucket begins within 3 % of it.
SLOW_NS = 35_000_000


class BadFile(Exception):
    """A file that cannot be read as results; the message names it."""


@dataclass
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
    messages: int = None    # ... all messages: what segments and system calls are divided by
    connections: int = None
    stalls: int = None      # proved by the library
    system_calls: int = None
    score: float = None     # --score: what the program's own output says
    name: str = None        # live: what identifies it

    def json(self):
        """As it goes into the file: without what is not known."""
        made = {key: value for key, value in asdict(self).items()
                if value is not None and key != "histogram"}
        if self.histogram.buckets:
            made["histogram"] = self.histogram.json()
        return made

    @classmethod
    def of_json(cls, value):
        """From the file."""
        known = {name: value[name] for name in cls.__dataclass_fields__
                 if name in value and name != "histogram"}
        return cls(**known, histogram=Histogram.of_json(value.get("histogram")))

    def value(self, metric):
        """The number that a metric compares; None where it is not known.  Times are in ms."""
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
    """All of an experiment."""
    kind: str
    experiment: dict                            # what was asked for: arms, base, command, seed, ...
    machines: dict = field(default_factory=dict)  # stratum -> what it is
    units: list = field(default_factory=list)
    failures: list = field(default_factory=list)  # {"round", "arm", "what"}
    totals: list = field(default_factory=list)  # live: units of whole arms, from the segments' rows
    events: list = field(default_factory=list)  # {"at_s", "what"}: the guard, a switch
    began: str = None
    ended: str = None
    ending: str = "running"

    @property
    def arms(self):
        """The arms, in the order asked for."""
        return self.experiment["arms"]

    @property
    def paired(self):
        """Are units paired by round?"""
        return self.kind != "live"

    def of_arm(self, arm):
        """Its units."""
        return [unit for unit in self.units if unit.arm == arm]

    def rounds(self):
        """(stratum, block) -> {arm: unit} of the rounds in which every arm was measured."""
        found = {}
        for unit in self.units:
            found.setdefault((unit.stratum, unit.block), {})[unit.arm] = unit
        return {key: by_arm for key, by_arm in found.items()
                if all(arm in by_arm for arm in self.arms)}

    def json(self):
        """The whole file, but for the analysis."""
        return {
            "format": FORMAT, "version": VERSION, "kind": self.kind, "ending": self.ending,
            "began": self.began, "ended": self.ended, "experiment": self.experiment,
            "machines": self.machines, "failures": self.failures, "events": self.events,
            "units": [unit.json() for unit in self.units],
            "totals": [unit.json() for unit in self.totals],
        }

    @classmethod
    def of_json(cls, value, path="results"):
        """From the file; BadFile says what is wrong with it."""
        if not isinstance(value, dict) or value.get("format") != FORMAT:
            raise BadFile(f"{path}: not a file of results; expected what --json FILE has written")
        if value.get("version") != VERSION:
            raise BadFile(f"{path}: version {value.get('version')}; this command reads {VERSION}")
        try:
            return cls(value["kind"], value["experiment"], value["machines"],
                       [Unit.of_json(unit) for unit in value["units"]], value["failures"],
                       [Unit.of_json(unit) for unit in value["totals"]], value["events"],
                       value["began"], value["ended"], value["ending"])
        except (KeyError, TypeError, ValueError) as error:
            raise BadFile(f"{path}: {type(error).__name__} {error}; was it cut short?") from error


def load(path):
    """A file of results."""
    try:
        with open(path, encoding="utf-8") as file:
            return Results.of_json(json.load(file), path)
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise BadFile(f"{path}: {error}") from error


def write_whole(path, text):
    """Write a file so that it is there whole or not at all; OSError if it cannot be.  What is no
    regular file (/dev/stdout, a pipe) is written to as it is."""
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


def save(path, results, analysis=None):
    """Write the file; OSError if it cannot be."""
    value = results.json()
    value["analysis"] = analysis
    write_whole(path, json.dumps(value, indent=1, allow_nan=False) + "\n")
