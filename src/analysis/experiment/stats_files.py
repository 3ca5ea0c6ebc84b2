# SPDX-License-Identifier: MIT
"""Statistics files, read by `unstall report --json`, into units."""

import contextlib
import json
import os
import shutil
import subprocess
import tempfile

from record.histogram import Histogram
from record.results import BadFile, Unit

TMPFS = ("/dev/shm", "/run/shm")
PREFIX = "unstall-ab."

# The sums of a unit, and their names in a report; those of a whole row as well.
SUMS = {"exchanges": "exchanges", "exchange_ns": "exchange_ns", "messages": "messages",
        "stalls": "stalls_proved"}
SUMS_OF_ROW = {**SUMS, "segments": "segments", "connections": "connections"}


def remove_stale_folders():
    """Remove the folders that a killed `unstall ab` of this user has left behind."""
    for place in TMPFS:
        with contextlib.suppress(OSError):
            for name in os.listdir(place):
                pid = name.removeprefix(PREFIX).partition(".")[0]
                path = os.path.join(place, name)
                if name.startswith(PREFIX) and pid.isdigit() and not os.path.exists(f"/proc/{pid}") \
                        and os.lstat(path).st_uid == os.geteuid():
                    shutil.rmtree(path, ignore_errors=True)


class Folder:
    """A folder on tmpfs for the statistics files of one run, removed at the end of the context."""

    def __init__(self):
        self.path = None

    def __enter__(self):
        remove_stale_folders()
        places = [os.environ.get("XDG_RUNTIME_DIR"), *TMPFS]
        for place in filter(None, places[1:] + places[:1]):
            with contextlib.suppress(OSError):
                self.path = tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}.", dir=place)
                return self
        raise BadFile("no folder on tmpfs for statistics can be made (/dev/shm)")

    def __exit__(self, *_):
        shutil.rmtree(self.path, ignore_errors=True)

    def files(self):
        """The paths of the statistics files in it."""
        with contextlib.suppress(OSError):
            return sorted(os.path.join(self.path, name) for name in os.listdir(self.path)
                          if name.endswith(".unstall"))
        return []


def report(command, target):
    """The list of processes in `unstall report --json` of a file or folder."""
    done = subprocess.run([command, "report", "--json", target], check=False, capture_output=True,
                          stdin=subprocess.DEVNULL, env=quiet_environment(),
                          start_new_session=True)  # the terminal's Ctrl-C is for us
    if done.returncode not in (0, 1, 2):  # the verdict
        said = done.stderr.decode(errors="replace").strip().removeprefix("unstall report: ")
        raise BadFile(said or f"{target}: no report")
    value = json.loads(done.stdout)
    return value.get("processes", [value])  # the report on one file is the process itself


def quiet_environment():
    """The environment of our own commands, without a preloaded library."""
    return {name: value for name, value in os.environ.items()
            if name != "LD_PRELOAD" and not name.startswith("UNSTALL_")}


def empty_unit(arm, stratum, name=None, **known):
    """A unit to which rows or connections are added."""
    return Unit(arm, stratum, name=name, **dict.fromkeys(SUMS, 0), connections=0, **known)


def _add(unit, told, names):
    for name, of_report in names.items():
        setattr(unit, name, getattr(unit, name) + told[of_report])
    unit.histogram.add(Histogram.of_json(told["exchange"]))


def sum_rows(rows, arm, stratum):
    """Rows of statistics files -> one unit."""
    unit = empty_unit(arm, stratum, segments=0)
    for row in rows:
        _add(unit, row, SUMS_OF_ROW)
    if any(row["connections"] != row["connections_ended"] for row in rows):
        unit.segments = None  # the library counts them when a connection ends
    return unit


def add_connection(unit, connection):
    """Add a connection of a statistics file to its unit."""
    _add(unit, connection, SUMS)
    unit.connections += 1


def add_unit(unit, other):
    """Add another unit of connections; what is not known of one is not known of both."""
    for name in SUMS_OF_ROW:
        both = getattr(unit, name), getattr(other, name)
        setattr(unit, name, None if None in both else sum(both))
    unit.histogram.add(other.histogram)


def key_of(connection, process, assignment):
    """The unit of a connection, which is what the arms were assigned to at random."""
    if assignment == "peer":
        return connection["peer"].rpartition(":")[0]
    if assignment == "listener":
        if "listener" in connection:  # in the kernel there is a row for each arm, not for each listener
            return connection["listener"]
        row = next((row for row in process["rows"] if row["index"] == connection["row"]), None)
        return row["endpoint"] if row else "other"
    return f"{process['pid']}-{process['started_ns']}-{connection['number']}"


def mapped_files(pid):
    """The paths of the files that a process has mapped; BadFile if it cannot be looked at."""
    try:
        with open(f"/proc/{pid}/maps", encoding="utf-8", errors="replace") as file:
            words = [line.rstrip("\n").split(None, 5) for line in file]
    except (FileNotFoundError, ProcessLookupError) as error:
        raise BadFile(f"{pid}: no such process; give the id of a running one") from error
    except OSError as error:
        raise BadFile(f"{pid}: cannot be inspected: {error.strerror}; run this as its user or "
                      "as root") from error
    return list(dict.fromkeys(each[5] for each in words if len(each) == 6))
