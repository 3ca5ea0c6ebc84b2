# SPDX-License-Identifier: MIT
"""Runs a sick client against a well peer."""

import subprocess

from .http_peer import HttpPeer
from .measurement import measured
from .program import measures


def talk(peer, treatment, scratch, command, connections=1, **variables):
    """Run `command` (a function of the port that gives the argument list) to its end; returns its output."""
    client = subprocess.Popen([str(word) for word in command(peer.port)], env=treatment.env(**variables),
                              cwd=scratch, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE)
    peer.meet(lambda: treatment.assert_in(client.pid))
    try:
        said, complained = client.communicate(timeout=30)
    finally:
        client.kill()
        client.wait()
    assert client.returncode == 0, f"the client failed: {complained.decode(errors='replace')}"
    assert len(peer.connections) == connections, f"{len(peer.connections)} connections: not kept alive"
    return said


def run_client(treatment, scratch, command, body, exchanges, peer=HttpPeer, **variables):
    """Run an HTTP client that posts `body` `exchanges` times over one connection; its Measurement.

    The client's standard output must be all answers in their order.
    """
    with peer() as peer:
        said = talk(peer, treatment, scratch, command, **variables)
    assert peer.requests == [body] * exchanges, "the server did not get what the client was to send"
    assert said == b"".join(map(peer.answer, range(1, exchanges + 1))), f"wrong answers: {said!r}"
    return measured(peer.times_ms, peer.counts[1:])


POSTED = "order=" + "x" * 94


def posts(*words, exchanges):
    """The measure() of a victim that is such a client: WORDS PORT EXCHANGES BODY."""
    return measures(words, lambda *of: run_client(*of, POSTED.encode(), exchanges), exchanges, POSTED)


def run_talk(treatment, scratch, command, peer, got, exchanges):
    """Run `command` against a peer(); got(it, what the client said) is asked in the end. A Measurement."""
    with peer() as far:
        said = talk(far, treatment, scratch, command)
    assert len(far.times_ms) >= exchanges - 1, f"{len(far.times_ms)} exchanges timed"
    assert got(far, said), (said, vars(far))
    return measured(far.times_ms, far.counts[1:])


def talks(*words, peer, got, exchanges=15):
    """The measure() of a victim that is such a client: WORDS PORT EXCHANGES."""
    return measures(words, lambda *of: run_talk(*of, peer, got, exchanges), exchanges)
