# SPDX-License-Identifier: MIT
"""Which of the collected cases run: the cases for the library's processor, one part of them (--part), each in
one mode (UNSTALL_TESTS_QUICK=1)."""

from .library import MODES


def for_processor(items, processor):
    """Without the cases that are for a library of another processor; None: there is no library."""
    def is_for(item):
        marker = item.get_closest_marker("processors")
        return marker is None or processor is None or processor in marker.args
    return [item for item in items if is_for(item)]


def part_of(items, part):
    """The Ith of N parts, for a `part` I/N: neighbours stay together, because they share fixtures."""
    number, count = map(int, part.split("/"))
    return items[(number - 1) * len(items) // count:number * len(items) // count]


def _parameters(item):
    return item.callspec.params if hasattr(item, "callspec") else {}


def _is_mode(value):
    return isinstance(value, str) and value in ("bare", *MODES)


def in_one_mode(items):
    """Of each group of cases that differ by their mode only, one: the first group in its first mode, the next
    in its second.  `bare` shows nothing of the library: it is left out where there are other modes."""
    groups = {}
    for item in items:
        others = tuple((name, repr(value)) for name, value in _parameters(item).items()
                       if not _is_mode(value))
        groups.setdefault((item.nodeid.split("[")[0], others), []).append(item)
    chosen = set()
    for number, group in enumerate(groups.values()):
        loaded = [item for item in group if "bare" not in _parameters(item).values()] or group
        chosen.add(loaded[number % len(loaded)])
    return [item for item in items if item in chosen]
