# SPDX-License-Identifier: MIT
"""Runs a sick HTTP client against the well peer."""

import subprocess

from .http_peer import HttpPeer
from .measurement import measured


def run_client(treatment, scratch, command, body, exchanges):
    """Run a client that posts `body` `exchanges` times over one connection; its Measurement.

    `command` is a function of the port that gives the argument list.  The client's standard
    output must be all answers in their order.
    """
    with HttpPeer() as peer:
        client = subprocess.Popen([str(word) for word in command(peer.port)], env=treatment.env(),
                                  cwd=scratch, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE)
        peer.meet(lambda: treatment.assert_in(client.pid))
        try:
            said, complained = client.communicate(timeout=30)
        finally:
            client.kill()
            client.wait()
    assert client.returncode == 0, f"the client failed: {complained.decode(errors='replace')}"
    assert len(peer.connections) == 1, f"{len(peer.connections)} connections: not kept alive"
    assert peer.requests == [body] * exchanges, "the server did not get what the client was to send"
    assert said == b"".join(map(peer.answer, range(1, exchanges + 1))), f"wrong answers: {said!r}"
    return measured(peer.times_ms, peer.counts[1:])
