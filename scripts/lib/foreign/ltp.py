# SPDX-License-Identifier: MIT
"""An installed Linux Test Project: its syscalls and its Open POSIX Test Suite.

    FOLDER/runtest/syscalls                             lines of a name and a command
    FOLDER/testcases/bin                                the commands
    FOLDER/testcases/open_posix_testsuite/conformance   .../INTERFACE/*.run-test
"""

import fnmatch
import os
import shlex
import sys
import time
from pathlib import Path

from .programs import Programs, plain

LEFT_OUT = {
    "swapon*": "adds swap to the machine",
    "swapoff*": "takes swap from the machine",
    "quotactl*": "changes quotas of the file systems",
    "acct*": "accounts for every process of the machine",
    "msgstress*": "takes all processes of the machine",
    "fork13*": "takes all process ids, for minutes",
    "fork14*": "takes all memory",
    "migrate_pages*": "takes all memory",
    "move_pages*": "takes all memory",
    "ioctl_loop*": "takes loop devices",
    "vhangup*": "hangs the terminal up",
}


def left_out(name):
    """Whether a test could harm other programs on this machine."""
    return any(fnmatch.fnmatch(name, pattern) for pattern in LEFT_OUT)


def wrong(text, *marks):
    """The lines of output that tell of a failure, without numbers that differ from run to run."""
    return sorted({plain(line) for line in text.splitlines() if any(mark in line for mark in marks)})


class Syscalls(Programs):
    """runtest/syscalls: exit statuses are TFAIL 1, TBROK 2, TWARN 4, TCONF 32, and their sums."""
    name = "LTP syscalls"
    mark = (" TFAIL", " TBROK", " TWARN")

    def __init__(self, folder, confined, jobs):
        super().__init__(confined)
        self.folder, self.jobs = folder, jobs
        lines = [line.split(maxsplit=1) for line in (folder / "runtest/syscalls").read_text().splitlines()
                 if line.strip() and not line.startswith("#")]
        self.commands = {name: shlex.split(command) for name, command in lines if not left_out(name)}
        self.tests = list(self.commands)

    def command(self, test, folder):
        return self.commands[test]

    def variables(self):
        return {"LTPROOT": str(self.folder), "PATH": f"{self.folder}/testcases/bin:{os.environ['PATH']}"}

    def run(self, mode, host, only):
        """One test; again where another one had the loop device that it wanted."""
        for _ in range(20):
            run = super().run(mode, host, only)
            if "Failed to acquire device" not in run.outcomes[only]:
                break
            time.sleep(1)
        return run

    def outcome(self, status, text):
        if status is None:
            return "hung"
        if status == 32:
            return "skipped"
        said = wrong(text, *self.mark)
        return "passed" if status == 0 else f"failed: {'; '.join([f'status {status}', *said])}"


class Posix(Programs):
    """The conformance tests: 0 passed, 1 failed, 2 unresolved, 4 unsupported, 5 untested."""
    name = "LTP POSIX"

    def __init__(self, folder, confined, jobs):
        super().__init__(confined)
        self.jobs = jobs
        self.folder = folder / "testcases/open_posix_testsuite/conformance"
        self.tests = sorted(str(path.relative_to(self.folder)) for path in self.folder.rglob("*.run-test"))

    def command(self, test, folder):
        return [self.folder / test]

    def outcome(self, status, text):
        if status is None:
            return "hung"
        if status in (4, 5):
            return "skipped"
        return "passed" if status == 0 else f"failed: {'; '.join([f'status {status}', *wrong(text, 'FAIL')])}"


def suites(folder, confined, jobs):
    """The suites of a folder."""
    folder = Path(folder).resolve()
    if not (folder / "runtest/syscalls").is_file():
        sys.exit(f"{folder}: no runtest/syscalls: this is no installed Linux Test Project")
    several = [Syscalls(folder, confined, jobs), Posix(folder, confined, jobs)]
    return [suite for suite in several if suite.tests]


def version(folder):
    """Its name in the document."""
    told = folder / "Version"
    return f"Linux Test Project {told.read_text().strip() if told.is_file() else 'of unknown version'}"
