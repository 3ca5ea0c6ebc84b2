# SPDX-License-Identifier: MIT
"""Perl's HTTP::Daemon."""

from pathlib import Path

from runner import Victim, run_http_server

HERE = Path(__file__).parent
EXCHANGES = 15


def measure(treatment, scratch):
    return run_http_server(treatment, scratch,
                           lambda port: ["/usr/bin/perl", HERE / "server.pl", port], EXCHANGES,
                           "/order", b"an order\n")


VICTIM = Victim(
    story="HTTP::Daemon of libwww-perl prints status line, headers and content one by one",
    sick="server",
    needs=("/usr/bin/perl",),
    packages=("libhttp-daemon-perl",),
    measure=measure,
    verdict="it sends each answer in many small writes and Nagle holds all but the first",
    segments={"nodelay": 6, "cork": 1, "coalesce": 1, "auto": 1},
)
