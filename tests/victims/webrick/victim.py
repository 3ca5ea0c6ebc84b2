# SPDX-License-Identifier: MIT
"""Ruby's WEBrick."""

from pathlib import Path

from runner import Affected, Victim, orders

VICTIM = Victim(
    story="WEBrick, long Ruby's own web server, writes header and body of a response by two writes",
    sick="server",
    needs=("ruby",),
    packages=("ruby-webrick",),
    measure=orders("ruby", Path(__file__).with_name("server.rb")),
    verdict="it sends each answer in two small writes and Nagle holds the second",
    segments={"nodelay": 2, "cork": 1, "coalesce": 1, "auto": 1},
    affected=Affected(
        software="WEBrick",
        package="ruby-webrick",
        source="Pass `AcceptCallback: proc { |s| s.setsockopt(Socket::IPPROTO_TCP, "
               "Socket::TCP_NODELAY, 1) }` to `HTTPServer.new`.",
        measured=True,
        observe="ruby server.rb",
        words=("webrick",),
    ),
)
