# SPDX-License-Identifier: MIT
"""A server on Node's net module: every socket.write is tried at once, noDelay is off by default."""

from pathlib import Path

from runner import Affected, Victim, run_line_server

HERE = Path(__file__).parent
EXCHANGES = 15


def measure(treatment, scratch):
    own = ["nodelay"] if treatment.own else []
    return run_line_server(treatment, scratch, lambda port: ["node", HERE / "server.js", port, *own],
                           EXCHANGES)


VICTIM = Victim(
    story="a line server on Node's net module with setNoDelay(false) calls socket.write twice for an answer",
    sick="server",
    needs=("node",),
    measure=measure,
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
