# SPDX-License-Identifier: MIT
"""A bash script sends a request through /dev/tcp by two printfs; bash writes each on descriptor 1, a
duplicate of the socket."""

from runner import Affected, TalkPeer, Victim, talks

EXCHANGES = 25


class Answerer(TalkPeer):
    """Answers each message of two lines by one."""

    def take(self, pending):
        if pending.count(b"\n") < 2:
            return None
        assert pending == b"question %d\nhow many\n" % len(self.counts), pending
        return len(pending), b"answer %d\n" % len(self.counts), True


def got(_, said):
    return said == b"".join(b"answer %d\n" % i for i in range(EXCHANGES))


VICTIM = Victim(
    sick="client",
    needs=("bash",),
    measure=talks("/bin/bash", "bash-dev-tcp/ask.bash", peer=Answerer, got=got, exchanges=EXCHANGES),
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
