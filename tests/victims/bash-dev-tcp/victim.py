# SPDX-License-Identifier: MIT
"""A bash script sends a request through /dev/tcp by two printfs; bash writes each on descriptor 1, a
duplicate of the socket."""

from pathlib import Path

from runner import Affected, TalkPeer, Victim, measured
from runner.client import talk

HERE = Path(__file__).parent
EXCHANGES = 25


class Answerer(TalkPeer):
    """Answers each message of two lines by one."""

    def take(self, pending):
        if pending.count(b"\n") < 2:
            return None
        assert pending == b"question %d\nhow many\n" % len(self.counts), pending
        return len(pending), b"answer %d\n" % len(self.counts), True


def measure(treatment, scratch):
    with Answerer() as peer:
        said = talk(peer, treatment, scratch, lambda port: ["/bin/bash", HERE / "ask.bash", port, EXCHANGES])
    assert said == b"".join(b"answer %d\n" % i for i in range(EXCHANGES)), said
    return measured(peer.times_ms, peer.counts[1:])


VICTIM = Victim(
    sick="client",
    needs=("bash",),
    measure=measure,
    verdict="writes bypass the library: with",
    segments={"nodelay": 2, "cork": 2, "coalesce": 2, "auto": 2},
    affected=Affected(
        software="Bash, /dev/tcp",
        package="bash",
        source="Build the message in a variable, and print it by one printf.",
        observe="bash client.bash",
        words=("/dev/tcp/",),
    ),
)
