# SPDX-License-Identifier: MIT
"""The result of `unstall report` on a program that ran under observe."""

import contextlib
import json
import os
import pwd
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from harness import unstall

CLAIMS = ("stalls_proved", "stalls_suspected", "stalls_bound", "peer_stalls")
# The role of the endpoint at which a sick side's stalls must be told.
ROLES = {"client": "destination", "server": "listener", "relay": "destination"}
UNSEEN = "writes bypass the library"


@dataclass(frozen=True)
class Observed:
    """The verdict, and the counters of the endpoint that it is about."""
    kind: str
    sentence: str
    notes: tuple
    role: str
    row: dict
    claims: dict  # added up over all endpoints
    pieces: tuple = ()  # the bytes of the two writes at the pair of call sites that stalled most

    @property
    def stalls(self):
        """The proved ones at the endpoint that the verdict is about."""
        return self.row["stalls_proved"] + self.row["stalls_bound"]

    def told(self):
        """All that it says for people."""
        return " ".join((self.sentence, *self.notes))

    def short(self):
        """For a table."""
        if self.kind == "stalls":
            return f"stalls, {self.stalls} of {self.row['exchanges']}"
        return self.kind


@contextlib.contextmanager
def statistics(owner=None):
    """A private folder on tmpfs, the user `owner`'s."""
    folder = tempfile.mkdtemp(prefix="unstall-victim-", dir="/dev/shm")
    if owner:
        os.chown(folder, pwd.getpwnam(owner).pw_uid, -1)
    try:
        yield Path(folder)
    finally:
        shutil.rmtree(folder)


def _pieces(told):
    """Of the first occurrence kept of the worst pattern."""
    patterns = [pattern for process in told["processes"] for pattern in process["patterns"]]
    worst = max(patterns, key=lambda pattern: pattern["stalls"], default=None)
    return tuple(write.get("bytes") for write in worst["occurrences"][-1]) if worst else ()


def observed(folder):
    """The report on all processes in `folder`."""
    told = json.loads(unstall("report", "--json", folder, check=True).stdout)
    verdict, rows = told["verdict"], told["rows"]
    row = next((row for row in rows if (row["role"], row["endpoint"]) ==
                (verdict["role"], verdict["endpoint"])),
               dict.fromkeys((*CLAIMS, "exchanges"), 0))
    return Observed(verdict["found"], verdict["sentence"], tuple(verdict["notes"]), verdict["role"], row,
                    {claim: sum(row[claim] for row in rows) for claim in CLAIMS}, _pieces(told))


def _unlike(found, expected):
    if expected in found.sentence:
        return []
    return [f"the report does not say \"{expected}\", but: {found.sentence}"]


def wrong_of_well(found, known=0, says=""):
    """The complaints about the report on a program without a stall, except `known` real ones.

    `says` must be in it.
    """
    claimed = {claim: n for claim, n in found.claims.items() if n}
    if known and set(claimed) == {"stalls_proved"} and claimed["stalls_proved"] <= known:
        return []
    wrong = [f"{claimed} claimed: {found.sentence}"] if claimed else []
    if says not in found.told():
        wrong.append(f"the report does not say \"{says}\", but: {found.told()}")
    if not claimed and found.kind not in ("no-stall", "application"):
        wrong.append(f"the verdict is {found.kind}: {found.sentence}")
    return wrong


def wrong_of_victim(found, sick, expected, least, most, pieces=()):
    """The complaints about the report on a stalling program; `least` to `most` of its exchanges stalled.

    `pieces`: the bytes of the two writes of which Nagle holds the second, if the victim knows.
    """
    wrong = _unlike(found, expected)
    if expected.startswith(UNSEEN):
        if found.kind != "unseen" or any(found.claims.values()):
            wrong.append(f"the verdict is {found.kind}, with {found.claims}")
        return wrong
    if (found.kind, found.role) != ("stalls", ROLES[sick]):
        wrong.append(f"the verdict is {found.kind} at a {found.role}, not stalls at a {ROLES[sick]}")
    elif not least <= found.stalls <= most:
        wrong.append(f"{found.stalls} stalls are told, of {least:.0f} to {most:.0f}")
    if pieces and found.pieces != pieces:
        wrong.append(f"the pieces are told as {found.pieces}, not {pieces}")
    if found.claims["peer_stalls"]:
        wrong.append(f"{found.claims['peer_stalls']} stalls of the peer, which has none")
    return wrong
