# SPDX-License-Identifier: MIT
"""socat writes each piece that it reads by a write of its own, and waits in select in between."""

import time

from harness import AnsweringPeer, data_segments_in
from runner import Affected, Daemon, Driver, Victim, measured

EXCHANGES = 25
FIRST, SECOND = b"h" * 200, b"b" * 100
# Long enough for socat to have read the first piece when the second one comes.
APART_SECONDS = 0.006


class FarEnd(AnsweringPeer):
    """Answers each whole request and counts the segments that it came in."""

    def __init__(self):
        super().__init__(request=len(FIRST + SECOND), reply=50)
        self.counts = []

    def serve(self, connection):
        while (request := connection.take(self.request)) is not None:
            assert request == FIRST + SECOND, "the relay changed the bytes"
            self.counts.append(data_segments_in(connection.socket))
            connection.socket.sendall(self.reply)


def measure(treatment, scratch):
    with FarEnd() as far_end:
        def command(port):
            own = ",nodelay" if treatment.own else ""
            return ["socat", f"TCP-LISTEN:{port},bind=127.0.0.1,reuseaddr,fork{own}",
                    f"TCP:127.0.0.1:{far_end.port}{own}"]

        with Daemon(command, treatment.env(), scratch, "socat") as relay, Driver(relay.port) as driver:
            for _ in range(EXCHANGES):
                driver.send(FIRST)
                time.sleep(APART_SECONDS)
                answer = driver.exchange(SECOND, lambda so_far: len(so_far) >= 50)
                assert answer == far_end.reply, answer
            for pid in relay.processes():
                treatment.assert_in(pid)
            assert len(relay.processes()) == 2, "the relay's child for the connection is missing"
    return measured(driver.times_ms, far_end.counts)


VICTIM = Victim(
    sick="relay",
    needs=("socat",),
    measure=measure,
    segments={"nodelay": 2, "cork": 2, "coalesce": 2, "auto": 2},
    affected=Affected(
        software="socat, a relay between TCP connections",
        package="socat",
        own="the address option `nodelay`: `TCP:HOST:PORT,nodelay`",
        source="Set TCP_NODELAY; a relay cannot know that more will come.",
        measured=True,
        observe="socat TCP-LISTEN:PORT,fork TCP:HOST:PORT",
        programs=("socat", "socat1"),
    ),
)
