# SPDX-License-Identifier: MIT
"""A server on Ruby's TCPServer: each print is a write; a thread a connection."""

from pathlib import Path

from runner import Affected, Victim, run_line_server

HERE = Path(__file__).parent
EXCHANGES = 15


def measure(treatment, scratch):
    own = ["nodelay"] if treatment.own else []
    return run_line_server(treatment, scratch, lambda port: ["ruby", HERE / "server.rb", port, *own],
                           EXCHANGES)


VICTIM = Victim(
    story="a line server on Ruby's TCPServer sends each print at once: new sockets have sync = true",
    sick="server",
    needs=("ruby",),
    measure=measure,
    verdict="it sends each answer in two small writes and Nagle holds the second",
    segments={"nodelay": 2, "cork": 1, "coalesce": 1, "auto": 1},
    affected=Affected(
        software="Ruby, TCPServer and TCPSocket",
        package="ruby3.1",
        source="`s.setsockopt(Socket::IPPROTO_TCP, Socket::TCP_NODELAY, 1)`. Better: one print "
               "an answer.",
        measured=True,
        observe="ruby server.rb",
        words=("TCPServer", "TCPSocket"),
    ),
)
