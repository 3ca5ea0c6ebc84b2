# SPDX-License-Identifier: MIT
"""curl sends head and body of a small POST together and sets TCP_NODELAY."""

from harness import run
from runner import HttpPeer, Well


def drive(prefix, env, scratch):
    with HttpPeer() as peer:
        peer.meet(None)
        run([*prefix, "--", "curl", "--disable", "--silent", "--show-error", "--noproxy", "*", "--data",
             "order=one", *[f"http://127.0.0.1:{peer.port}/order"] * 20], env, cwd=scratch)
        assert peer.requests == [b"order=one"] * 20 and len(peer.connections) == 1


WELL = Well(
    needs=("curl",),
    drive=drive,
)
