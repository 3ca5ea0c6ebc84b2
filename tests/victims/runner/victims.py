# SPDX-License-Identifier: MIT
"""A victim, and how the folders beside this one are found."""

import importlib.util
import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Callable

from .observed import observed, statistics

HOME = Path(__file__).resolve().parents[1]

# Daemons live here on Debian; a user's PATH may lack it.
SEARCH = os.environ.get("PATH", "") + ":/usr/sbin:/usr/bin:/sbin:/bin"


def _installed(package):
    done = subprocess.run(["dpkg-query", "-W", "-f", "${db:Status-Status}", package], check=False,
                          capture_output=True, text=True)
    return done.stdout == "installed"


def missing(commands, packages=()):
    """The packages that this machine lacks."""
    return [need for need in commands if shutil.which(need, path=SEARCH) is None] + \
           [package for package in packages if not _installed(package)]


@dataclass(frozen=True)
class Affected:
    """The software's row in docs/affected.md, which a user searches for, and doctor's advice.

    software  its name, and the part of it that stalls
    package   the Debian package that has the row's version; "" where `version` names it
    version   the version that was measured, where no package of Debian was
    own       a setting of the software that cures, "" if it has none
    source    a change of the program that uses or is the software
    measured  the runner has measured `own`, or else `source`: the treatment OWN
    observe   the command line behind `unstall observe --` and `unstall run --`
    programs  names of its program files: doctor knows it by one of them
    words     texts; each one in a script shows that the script uses it
    libraries the begin of the name of a shared library that a program links
    """
    software: str
    source: str
    observe: str
    package: str = ""
    version: str = ""
    own: str = ""
    measured: bool = False
    programs: tuple = ()
    words: tuple = ()
    libraries: tuple = ()


@dataclass(frozen=True)
class Victim:
    """A real program that stalls.

    story     victim.py's docstring: the code that writes apart, and the source of that knowledge
    sick      the side that stalls and gets the preload: client, server or relay
    needs     commands (from Debian packages, see packages.txt)
    packages  Debian packages that are no commands: libraries and their headers
    heavy     its packages are big: run by scripts/gallery --all alone (see packages-heavy.txt)
    measure   measure(treatment, scratch) -> Measurement; raises AssertionError when an answer is wrong
    verdict   text that the verdict of `unstall report` on a run in mode observe must have: that of two writes
    pieces    the bytes of the write that is held, and of the one before it, as the report must name them: the
              earlier one first; () if they differ from exchange to exchange
    segments  treatment name -> most data segments an exchange of the sick side
    whole_run the times are of whole runs; a stall is only a part of each
    well      well() -> the version on this machine, if it is a newer one that does not stall; else ""
    affected  the software that stalls; None: another victim's, or a program of this folder alone
    """
    sick: str
    needs: tuple
    measure: Callable
    story: str = ""
    verdict: str = ""
    pieces: tuple = ()
    segments: dict = field(default_factory=lambda: {"nodelay": 2, "cork": 1, "coalesce": 1, "auto": 1})
    whole_run: bool = False
    packages: tuple = ()
    heavy: bool = False
    well: Callable = None
    affected: Affected = None
    name: str = ""

    def well_version(self):
        """The version on this machine, if it does not stall; else ""."""
        return self.well() if self.well and not self.missing() else ""

    def missing(self):
        """The needed commands and packages that this machine lacks."""
        return missing(self.needs, self.packages)

    def run(self, treatment):
        """One measurement, in a scratch folder of its own."""
        with tempfile.TemporaryDirectory(prefix=f"unstall-{self.name}-") as scratch:
            if treatment.name != "observe":
                return self.measure(treatment, Path(scratch))
            with statistics() as folder:
                measurement = self.measure(treatment.adding(UNSTALL_STATS=folder), Path(scratch))
                return replace(measurement, observed=observed(folder))


def victims(heavy=False):
    """The names of the victims: folders with a victim.py; heavy ones only with `heavy`."""
    names = sorted(path.parent.name for path in HOME.glob("*/victim.py"))
    return [name for name in names if heavy or not load(name).heavy]


def story_of(module):
    """Its docstring, as a sentence goes on with it."""
    text = " ".join(module.__doc__.split()).rstrip(".")
    return text[0].lower() + text[1:] if text.startswith(("A ", "The ")) else text


def load(name):
    """The Victim of a folder."""
    spec = importlib.util.spec_from_file_location(f"victim_{name}", HOME / name / "victim.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    of = "answer" if module.VICTIM.sick == "server" else "message"
    return replace(module.VICTIM, name=name, story=story_of(module), verdict=module.VICTIM.verdict or
                   f"it sends each {of} in two small writes and Nagle holds the second")
