# SPDX-License-Identifier: MIT
"""The names of arms.  An arm is `bare` (without the library) or a mode, numbered where a mode is there
twice."""

import re

MODES = ("off", "observe", "nodelay", "cork", "coalesce", "auto")
BARE = "bare"

# Where arms do not differ significantly, the first of them in this list is recommended.  auto is the default
# and tested most, nodelay does least, coalesce is the only one in which a SIGKILL can lose bytes.
MILDEST_FIRST = ("off", "observe", BARE, "auto", "nodelay", "cork", "coalesce")


def mode_of(arm):
    """An arm's mode: `off-2` is a second arm in mode off (--aa)."""
    return re.sub(r"-\d+$", "", arm)


def numbered(modes):
    """The names of arms with these modes: off, off gives off, off-2."""
    names = []
    for mode in modes:
        before = sum(1 for name in names if mode_of(name) == mode)
        names.append(f"{mode}-{before + 1}" if before else mode)
    return names
