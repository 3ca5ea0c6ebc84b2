# SPDX-License-Identifier: MIT
"""An exchange stores nothing where two threads look, so that they pass no cache line between processors."""

import re

import pytest
from harness import CURING_MODES, PROGRAMS, AnsweringPeer, compile_c, mode_env, patiently, run

SEALED_LEAST = 8192  # the table of descriptors, which lies in the bss


def sealed(mode, writes, **settings):
    """A run of programs/no_shared_store.c."""
    binary = compile_c(PROGRAMS / "no_shared_store.c")
    with AnsweringPeer(300, 100) as peer:
        return run([binary, str(peer.port), str(writes)], mode_env(mode, UNSTALL_THREAD="never", **settings),
                   check=False)


# coalesce is left out: without a thread of ours it may hold nothing, and that thread stores its ticks.
@pytest.mark.parametrize("writes", [1, 2, 5])
@pytest.mark.parametrize("mode", [mode for mode in CURING_MODES if mode != "coalesce"])
def test_no_exchange_stores_in_shared_memory(mode, writes):
    def attempt():
        done = sealed(mode, writes)
        assert (done.returncode, done.stderr) == (0, ""), done.stdout
        return done
    # A pause of 5 ms within a hold is noted for all connections of the endpoint.
    done = patiently(attempt, 15)
    assert int(re.fullmatch(r"sealed (\d+) bytes\n", done.stdout)[1]) >= SEALED_LEAST
