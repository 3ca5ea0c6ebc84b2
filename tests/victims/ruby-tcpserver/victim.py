# SPDX-License-Identifier: MIT
"""A server on Ruby's TCPServer: each print is a write; a thread a connection."""

from pathlib import Path

from runner import Affected, Victim, line_server

VICTIM = Victim(
    story="a line server on Ruby's TCPServer sends each print at once: new sockets have sync = true",
    sick="server",
    needs=("ruby",),
    measure=line_server("ruby", Path(__file__).with_name("server.rb")),
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
