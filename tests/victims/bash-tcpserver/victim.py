# SPDX-License-Identifier: MIT
"""A bash script under tcpserver answers by two printfs; bash writes each by stdio on descriptor 1."""

from pathlib import Path

from runner import Daemon, Driver, Victim, measured

HERE = Path(__file__).parent
EXCHANGES = 25


def measure(treatment, scratch):
    def command(port):
        # No look-ups of names (-H, -R, -l): they would go out into the network.
        return ["tcpserver", "-q", "-H", "-R", "-l", "localhost", "127.0.0.1", port,
                "/bin/bash", HERE / "answer.bash"]

    with Daemon(command, treatment.env(), scratch, "tcpserver") as server:
        with Driver(server.port) as driver:
            for number in range(EXCHANGES):
                said = b"line number %d" % number
                answer = driver.exchange(said + b"\n", lambda so_far: so_far.count(b"\n") == 2)
                assert answer == b"200 %d\nyou said %s\n" % (len(said), said), answer
            for pid in server.processes():
                treatment.assert_in(pid)
            assert len(server.processes()) == 2, "the script's process is missing"
        server.wait_for_children()  # only at its end the library knows how many bytes it has not seen
    return measured(driver.times_ms, driver.counts)


VICTIM = Victim(
    sick="server",
    needs=("tcpserver", "bash"),
    measure=measure,
    verdict="writes bypass the library: with 127.0.0.1:",
    segments={"nodelay": 2, "cork": 2, "coalesce": 2, "auto": 2},
)
