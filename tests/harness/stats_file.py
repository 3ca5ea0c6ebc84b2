# SPDX-License-Identifier: MIT
"""Statistics files: a directory for them, and their contents (by dump_stats_file.c)."""

import contextlib
import hashlib
import json
import shutil
import subprocess
import tempfile
from pathlib import Path

from .compile import compile_c
from .library import SOURCE_ROOT
from .patience import wait_until

MODE_NUMBERS = {"off": 0, "observe": 1, "nodelay": 2, "cork": 3, "coalesce": 4, "auto": 5}
KEEP = 255
NO_ARM = 255
LISTENER, DESTINATION = 1, 2


@contextlib.contextmanager
def stats_directory():
    """A directory of our own on tmpfs, as UNSTALL_STATS wants it."""
    path = Path(tempfile.mkdtemp(prefix="unstall-test-", dir="/dev/shm"))
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def stats_flag():
    """For programs that include src/stats_file: compile_c() does not look there for changes."""
    digest = hashlib.sha256()
    for text in sorted((SOURCE_ROOT / "src/stats_file").glob("*.[ch]")):
        digest.update(text.read_bytes())
    return f"-DSTATS_SOURCES=0x{digest.hexdigest()[:8]}"


def _tool():
    return compile_c(Path(__file__).with_name("dump_stats_file.c"), stats_flag())


class StatsFile:
    """The contents of one file at the time of reading."""

    def __init__(self, path):
        done = subprocess.run([_tool(), path], check=False, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        self.path = path
        self.facts = json.loads(done.stdout)
        assert self.facts["magic"] == "unstall" and self.facts["version"] == 1

    def __getitem__(self, name):
        return self.facts[name]

    @property
    def rows(self):
        """The rows on which anything was counted."""
        return [row for row in self.facts["rows"] if row["connections"] or row["writes"] or row["reads"]]

    def row(self, **wanted):
        """The one row that is so."""
        found = [row for row in self.rows if all(row[name] == value for name, value in wanted.items())]
        assert len(found) == 1, f"{len(found)} rows are {wanted}"
        return found[0]

    def total(self, name):
        return sum(row[name] for row in self.facts["rows"])


def stats_files_in(directory):
    """All statistics files of a directory, in the order in which they were made."""
    found = [StatsFile(path) for path in Path(directory).iterdir()]
    return sorted(found, key=lambda stats_file: stats_file["started_ns"])


def stats_in(directory):
    """The one statistics file of a directory."""
    found = stats_files_in(directory)
    assert len(found) == 1, f"{len(found)} statistics files"
    return found[0]


def wait_for_stats_file(directory):
    """Waits until a process has made its statistics file there, with its header."""
    def is_there():
        return any(path.read_bytes()[:8].strip(b"\0") for path in Path(directory).iterdir())
    assert wait_until(is_there), "no statistics file"


def write_control(path, **fields):
    """Write these fields of the control block; gives its new sequence."""
    pairs = [f"{name}={value}" for name, value in fields.items()]
    done = subprocess.run([_tool(), path, "set", *pairs], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return int(done.stdout)
