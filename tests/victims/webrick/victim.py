# SPDX-License-Identifier: MIT
"""Ruby's WEBrick."""

from pathlib import Path

from runner import Victim, run_http_server

HERE = Path(__file__).parent
EXCHANGES = 15


def measure(treatment, scratch):
    return run_http_server(treatment, scratch,
                           lambda port: ["ruby", HERE / "server.rb", port], EXCHANGES, "/order",
                           b"an order\n")


VICTIM = Victim(
    story="WEBrick, long Ruby's own web server, writes header and body of a response apart",
    sick="server",
    needs=("ruby",),
    packages=("ruby-webrick",),
    measure=measure,
    verdict="it sends each answer in two small writes and Nagle holds the second",
    segments={"nodelay": 2, "cork": 1, "coalesce": 1, "auto": 1},
)
