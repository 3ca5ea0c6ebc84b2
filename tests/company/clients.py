# SPDX-License-Identifier: MIT
"""Shared by these tests: programs of this folder and of preload/, and the judgement of a cure."""

from contextlib import contextmanager
from pathlib import Path

from harness import CURING_MODES, PROGRAMS, AnsweringPeer, compile_c, pattern, program, run_judged

OWN = Path(__file__).parent / "programs"
EXCHANGES = 12

# Two writes and a read; a wait between the writes by poll and by select; a reader in another thread;
# two threads that write a message together.
CLIENTS = ("put_write", "between_poll", "between_select", "between_sleep", "reader_thread", "two_writers")


def binary(name, *flags, **options):
    """The compiled program of this folder or, failing that, of preload/programs."""
    source = OWN / f"{name}.c"
    if source.exists():
        return compile_c(source, f"-I{PROGRAMS}", *flags, **options)
    return program(name, *flags, **options)


@contextmanager
def checking_peer(messages=EXCHANGES, **where):
    """An AnsweringPeer that must have received exactly so many messages, in order, on its only connection."""
    with AnsweringPeer(**where) as peer:
        yield peer
    (connection,) = peer.connections
    assert bytes(connection.received) == pattern(messages * 300)


def is_cured(program, mode, **variables):
    """Run a client program in a mode: the bytes are right and, where the mode cures, the stall is gone."""
    done = run_judged(program, mode, EXCHANGES, peer=checking_peer, **variables)
    assert not (mode in CURING_MODES and done.stalls)
    return done
