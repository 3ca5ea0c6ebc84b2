# SPDX-License-Identifier: MIT
"""A signal handler interrupts the library at its own instructions, and closes or sets a connection there.

What the program is told afterwards is what it is told bare.
"""

import pytest

from harness import CURING_MODES, PROCESSOR, program, run_client

ACTS = ["close", "close_range", "accept", "dup2", "set", "shutdown", "shutdown_bytes", "close_bytes"]
STRIDE = 131  # every so many places of the library: about twenty


def interrupt(act, mode):
    # The bytes of the other connection stay buffered until the program pushes them.
    window = {"UNSTALL_WINDOW_US": "100000"} if act.endswith("bytes") else {}
    done = run_client(program("within_life"), mode, act, STRIDE, **window)
    print(done.stderr)
    if PROCESSOR in ("x86", "x86_64") and mode != "bare":
        assert done.facts["reached"] > 5
    return done.facts


@pytest.mark.parametrize("mode", ["bare", *CURING_MODES])
@pytest.mark.parametrize("act", ACTS)
def test_a_handler_at_each_place(act, mode):
    """Once the library saw nothing of it: a new socket had the old one's TCP_NODELAY, an option was lost."""
    assert interrupt(act, mode)["bad"] == 0


@pytest.mark.parametrize("mode", ["bare", *CURING_MODES])
def test_a_handler_replaces_the_very_connection(mode):
    """Just before a system call the descriptor is in a register already (docs/decisions.md)."""
    facts = interrupt("own", mode)
    assert facts["bad"] * 8 <= facts["reached"]
