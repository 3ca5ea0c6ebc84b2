# SPDX-License-Identifier: MIT
"""A server on Node's net module: every socket.write is tried at once, noDelay is off by default."""

from pathlib import Path

from runner import Affected, Victim, line_server

VICTIM = Victim(
    story="a line server on Node's net module with setNoDelay(false) calls socket.write twice for an answer",
    sick="server",
    needs=("node",),
    measure=line_server("node", Path(__file__).with_name("server.js")),
    verdict="it sends each answer in two small writes and Nagle holds the second",
    segments={"nodelay": 2, "cork": 1, "coalesce": 1, "auto": 1},
    affected=Affected(
        software="Node.js, the module net",
        package="nodejs",
        source="`socket.setNoDelay(true)`, or `net.createServer({noDelay: true}, ...)`. Better: "
               "one write an answer.",
        measured=True,
        observe="node server.js",
        words=("require('net')", "require(\"net\")", "from 'net'", "node:net"),
    ),
)
