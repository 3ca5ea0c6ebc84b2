# SPDX-License-Identifier: MIT
"""A line server on Ruby's TCPServer sends each print at once: new sockets have sync = true."""

from runner import Affected, Victim, line_server

VICTIM = Victim(
    sick="server",
    needs=("ruby",),
    measure=line_server("ruby", "ruby-tcpserver/server.rb"),
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
