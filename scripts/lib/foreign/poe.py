# SPDX-License-Identifier: MIT
"""Perl's POE: the tests that every event loop of its must pass, as Debian packages them.

poe-gen-tests writes a program for each test and loop; they print TAP.
"""

import shutil
import subprocess
from pathlib import Path

from .programs import Programs, plain

LOOPS = ("Select", "IO_Poll")


def missing():
    """Why this suite cannot run here; empty if it can."""
    return "" if shutil.which("poe-gen-tests") else "libpoe-test-loops-perl is not installed"


def version():
    """Its name in the document."""
    told = subprocess.run(["perl", "-MPOE", "-MPOE::Test::Loops", "-e",
                           "printf 'Perl %vd, POE %s, its tests %s', "
                           "$^V, $POE::VERSION, $POE::Test::Loops::VERSION"],
                          capture_output=True, text=True, check=True)
    return told.stdout


class Poe(Programs):
    """All tests with all loops of Perl's own."""
    name = "POE"
    limit = 20

    def __init__(self, folder, confined):
        """The programs are written into `folder`."""
        super().__init__(confined)
        self.folder = Path(folder)
        subprocess.run(["poe-gen-tests", f"--dirbase={folder}",
                        *(f"--loop=POE::Loop::{loop}" for loop in LOOPS)],
                       check=True, stdout=subprocess.DEVNULL)
        self.tests = sorted(str(path.relative_to(folder)) for path in self.folder.rglob("*.t"))

    def command(self, test, folder):
        # The file is how POE is told that tests may open sockets: all of theirs are on loopback.
        return ["sh", "-c", 'touch run_network_tests && exec perl "$0"', self.folder / test]

    def outcome(self, status, text):
        if status is None:
            return "hung"
        wrong = sorted({plain(line) for line in text.splitlines() if line.startswith("not ok")})
        if status == 0 and not wrong:
            return "skipped" if text.startswith("1..0") else "passed"
        return f"failed: {'; '.join([f'status {status}', *wrong])}"
