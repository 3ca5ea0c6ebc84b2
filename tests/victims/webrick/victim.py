# SPDX-License-Identifier: MIT
"""WEBrick, long Ruby's own web server, writes header and body of a response by two writes."""

from runner import Affected, Victim, orders

VICTIM = Victim(
    sick="server",
    needs=("ruby",),
    packages=("ruby-webrick",),
    measure=orders("ruby", "webrick/server.rb"),
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
