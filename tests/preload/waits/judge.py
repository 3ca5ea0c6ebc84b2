# SPDX-License-Identifier: MIT
"""Judges the outcome of an act: returns nothing, or raises Held with the error."""

import re
from dataclasses import dataclass

from harness import patiently

from . import rows
from .client import HELD, perform

# Scheduling on a busy machine may cost a few milliseconds; a forgotten entry costs the window of
# 100 ms, or the kernel's 200.
PROMPT_MS = 20.0
MORE = b"and more"
TRIES = 5  # a busy machine may be late once, a missing entry is late every time
BURSTS = 6  # exchanges of two writes each that `auto` sees of a connection before it holds

_QUERIES = re.compile(r"SO_PROTOCOL|SO_TYPE|SO_DOMAIN")


class Held(AssertionError):
    """The library broke the row's promise."""


def _require(truth, outcome, what):
    if not truth:
        seen = "came not" if outcome.late_ms is None else f"came after {outcome.late_ms:.1f} ms"
        calls = "\n".join(str(call) for call in outcome.calls)
        raise Held(f"{what}: the held bytes {seen}; {outcome.segments} segments, "
                   f"data {outcome.data!r}\n{outcome.stderr}{calls}")


def _prompt(outcome):
    _require(not outcome.lost, outcome, "lost")
    _require(outcome.late_ms is not None, outcome, "out of order")
    _require(outcome.late_ms <= PROMPT_MS, outcome, "late")


def _followed(outcome):
    _prompt(outcome)
    _require(outcome.data[HELD:] == MORE, outcome, "not followed")


def _joined(outcome):
    _followed(outcome)
    _require(outcome.segments == 1, outcome, "not one segment")


def _unasked(outcome):
    # Descriptors 0 to 2 were made before the library was loaded.
    asked = [call for call in outcome.queries if call.fd > 2 and _QUERIES.search(call.args)]
    _require(not asked, outcome, "the kernel was asked what the descriptor is")


def _own_value(outcome):
    _require(outcome.stdout.startswith("result 0 "), outcome, f"reads back {outcome.stdout}")


def _cured(outcome):
    _require(outcome.stdout.startswith("result 1 "), outcome, "TCP_NODELAY is not set")


@dataclass(frozen=True)
class _Way:
    """How a judge looks at an act."""
    requirements: tuple
    more: bool = False  # the act writes more to the connection
    trace: bool = False
    to_the_end: bool = False


_WAYS = {
    rows.PROMPT: _Way((_prompt,)),
    rows.JOINED: _Way((_joined,), more=True),
    rows.FOLLOWED: _Way((_followed,), more=True),
    rows.KNOWN: _Way((_prompt, _unasked), trace=True),
    rows.SHARED: _Way((_joined, _unasked), more=True, trace=True),
    rows.UNASKED: _Way((_followed, _unasked), more=True, trace=True),
    rows.OWN_VALUE: _Way((_own_value,), to_the_end=True),
    rows.CURED: _Way((_cured,), to_the_end=True),
}


def judge(check, mode, library=None, **how):
    """Perform the check's act in `mode` and judge it."""
    way = _WAYS[check.judge]
    outcome = perform(check.act, mode, library, expected=HELD + (len(MORE) if way.more else 0),
                      bursts=how.pop("bursts", BURSTS if mode == "auto" else 0), trace=way.trace,
                      to_the_end=way.to_the_end, **how)
    for require in way.requirements:
        require(outcome)


def judge_again(check, mode, library=None, **how):
    """judge(), patiently."""
    patiently(lambda: judge(check, mode, library, **how), TRIES)


def is_push(call, mode):
    """Whether a system call lets the held bytes go."""
    if mode == "coalesce":
        return call.name in ("sendto", "sendmsg") and call.has("held....")
    return call.is_push()


def is_mark(call):
    """Whether it is the client's word to the reader of the trace."""
    return call.name == "write" and call.fd == -1


def judge_order(name, mode):
    """By the trace: the push stands before the row's own system call (setuid32 for 32-bit programs)."""
    row = rows.ROWS[name]
    outcome = perform(row.checks[0].act, mode, trace=True)
    pushes = [at for at, call in enumerate(outcome.calls) if is_push(call, mode)]
    own = [at for at, call in enumerate(outcome.calls)
           if re.fullmatch(f"({row.own})(32)?", call.name) and not is_push(call, mode) and not is_mark(call)]
    _require(pushes, outcome, "no push in the trace")
    _require(own, outcome, f"no {row.own} in the trace")
    _require(pushes[0] < own[0], outcome, f"the push comes after {row.own}")
