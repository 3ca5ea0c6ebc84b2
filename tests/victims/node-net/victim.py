# SPDX-License-Identifier: MIT
"""A line server on Node's net module with setNoDelay(false) calls socket.write twice for an answer."""

from runner import Affected, Victim, line_server

VICTIM = Victim(
    sick="server",
    needs=("node",),
    measure=line_server("node", "node-net/server.js"),
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
